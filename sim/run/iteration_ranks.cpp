#include "sim/run/iteration_ranks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "models/state_traffic.hpp"
#include "sim/run/check_schedule.hpp"
#include "sim/step/expert_sync.hpp"

namespace packsim {
namespace {

void check_variability(std::span<const PricedGroup> groups, const Variability& variability) {
  int n_gpus = 0;
  for (const PricedGroup& group : groups) n_gpus = std::max(n_gpus, group.plan.plan.n_gpus);
  std::string all;
  for (const std::string& mistake : variability_mistakes(variability, n_gpus))
    all += (all.empty() ? "" : "; ") + mistake;
  if (!all.empty()) throw std::invalid_argument(all);
}

void check_waits(std::span<const PricedGroup> groups, const SimulationOptions& options) {
  if (options.ranks_wait) return;
  if (options.detail == StepDetail::stages || options.topology != nullptr)
    throw std::invalid_argument("expected ranks that wait for each other at op level");
  for (const PricedGroup& group : groups) {
    if (group.plan.plan.pp_degree > 1)
      throw std::invalid_argument("expected ranks that wait for each other in a pipeline, got pp_degree " +
                                  std::to_string(group.plan.plan.pp_degree));
  }
}

// The price of the empty micro-batch of a rank that takes part in a round's exchanges without training
// anything.
const MicroBatchPrice& no_pack() {
  static const TokenPrices kNoTokens;
  static const MicroBatchPrice kNoPrice{.tokens = &kNoTokens};
  return kNoPrice;
}

}  // namespace

IterationRanks::IterationRanks(const Schedule& schedule, std::span<const PricedGroup> groups,
                               const SimulationOptions& options)
    : schedule_(schedule),
      groups_(groups),
      merges_(options.topology == nullptr && options.merges_alike && !options.variability.any()),
      ranks_wait_(options.ranks_wait) {
  std::vector<std::size_t> n_packs;
  for (const PricedGroup& group : groups) n_packs.push_back(group.packs.size());
  check_schedule(schedule, n_packs);
  check_variability(groups, options.variability);
  check_waits(groups, options);
  if (options.variability.any()) slow_down_.emplace(options.variability);
  shares_experts_ = std::ranges::any_of(
      groups, [](const PricedGroup& group) { return ranks_of_experts(group.plan.plan) > 1; });
  const bool is_whole = options.detail == StepDetail::micro_batches && !slow_down_;
  for (const PricedGroup& group : groups) {
    const bool is_alone = group.plan.chunks.size() == 1 && ranks_of_experts(group.plan.plan) == 1;
    pass_times_.emplace_back(is_whole && is_alone ? group.packs.prices().size() : 0);
  }
  if (!merges_) return;
  for (const PricedGroup& group : groups) classes_.push_back(price_classes(group.packs.prices()));
}

// Gives every sync point its id: barriers come first, in their order, and then the shared packs.
void IterationRanks::name_sync_points(const Iteration& iteration) {
  const std::span<const PlacedPack> packs = schedule_.packs(iteration);
  barrier_rounds_.clear();
  for (const PlacedPack& placed : packs) {
    const bool is_known = !barrier_rounds_.empty() && barrier_rounds_.back() == placed.round;
    if (placed.after_barrier && !is_known) barrier_rounds_.push_back(placed.round);
  }
  auto next = static_cast<std::uint32_t>(barrier_rounds_.size());
  shared_ids_.assign(packs.size(), 0);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    if (mesh_.is_shared(i)) shared_ids_[i] = next++;
  }
}

// Sets rounds_ to the block's packs. Where all GPUs exchange weights or gradients in every micro-batch, and
// shared packs or barriers tie the rounds of blocks together, it has kNoPack for each round up to the block's
// last in which the block has no pack.
void IterationRanks::set_rounds(const Iteration& iteration, std::size_t block) {
  const std::span<const PlacedPack> packs = schedule_.packs(iteration);
  const bool fills_gaps = reduces_every_micro_batch(groups_[packs.front().group].plan.plan) &&
                          (mesh_.has_shared() || !barrier_rounds_.empty());
  rounds_.clear();
  std::uint32_t round = 0;
  for (const std::uint32_t position : mesh_.packs(block)) {
    for (; fills_gaps && round < packs[position].round; ++round) rounds_.push_back(kNoPack);
    rounds_.push_back(position);
    ++round;
  }
}

// The GPUs of a pipeline stage that n GPUs of the schedule stand for: more where tensor parallelism is used.
int IterationRanks::stage_gpus(std::uint32_t group, int n) const {
  return n * groups_[group].plan.plan.sequence_gpus() / schedule_.groups[group].gpus_per_pack;
}

RankMicroBatch IterationRanks::micro_batch(const PlacedPack& placed) {
  const PricedGroup& group = groups_[placed.group];
  const MicroBatchPrice& price = group.packs[placed.pack];
  std::vector<MicroBatchTimes>& of_group = pass_times_[placed.group];
  if (of_group.empty()) return &price;
  MicroBatchTimes& times = of_group[group.packs.price_index(placed.pack)];
  if (times.both.total_ns == 0) {
    const PassList forward(price, group.plan.chunks.front(), true);
    times.both = pass_time(forward);
    times.forward_ns = times.both.total_ns;
    times.forward_wait_ns = times.both.of(Cause::host);
    times.most_ahead_ns = forward.host().most_ahead_ns;
    times.both += pass_time(PassList(price, group.plan.chunks.front(), false, &forward.host()));
  }
  return {&price, &times};
}

void IterationRanks::set_work(const Iteration& iteration, std::size_t block, RankWork& work) {
  const std::span<const PlacedPack> packs = schedule_.packs(iteration);
  const std::span<const std::uint32_t> own = mesh_.packs(block);
  const PlacedPack& first = own.empty() ? packs.front() : packs[own.front()];
  work.plan = &groups_[first.group].plan;
  work.first_gpu = stage_gpus(first.group, mesh_.blocks()[block].first_gpu);
  work.own_stage_gpus = stage_gpus(first.group, mesh_.blocks()[block].n_gpus);
  work.micro_batches.clear();
  work.places.clear();
  bool is_plain = true;
  for (const std::uint32_t position : rounds_) {
    if (position == kNoPack) {
      work.micro_batches.push_back(&no_pack());
      continue;
    }
    const PlacedPack& placed = packs[position];
    work.micro_batches.push_back(micro_batch(placed));
    is_plain = is_plain && placed.group == first.group && !mesh_.is_shared(position);
  }
  for (const std::uint32_t position : is_plain ? std::span<const std::uint32_t>() : rounds_) {
    if (position == kNoPack) {
      work.places.push_back({.plan = work.plan, .first_gpu = work.first_gpu});
      continue;
    }
    const PlacedPack& placed = packs[position];
    work.places.push_back({.plan = &groups_[placed.group].plan,
                           .first_gpu = stage_gpus(placed.group, static_cast<int>(placed.first_gpu)),
                           .id = position});
  }
}

void IterationRanks::set_sync_points(const Iteration& iteration, RankWork& work) const {
  const std::span<const PlacedPack> packs = schedule_.packs(iteration);
  work.sync_points.clear();
  if (!ranks_wait_) return;
  std::uint32_t next_barrier = 0;
  std::uint32_t micro_batch = 0;
  const auto sync_up_to = [&](std::uint32_t round) {
    for (; next_barrier < barrier_rounds_.size() && barrier_rounds_[next_barrier] <= round; ++next_barrier)
      work.sync_points.push_back({.before = micro_batch, .id = next_barrier});
  };
  for (const std::uint32_t position : rounds_) {
    // If gaps are filled, a micro-batch has the number of its round.
    sync_up_to(position != kNoPack ? packs[position].round : micro_batch);
    if (position != kNoPack && mesh_.is_shared(position))
      work.sync_points.push_back({.before = micro_batch, .id = shared_ids_[position], .is_shared = true});
    ++micro_batch;
  }
  sync_up_to(packs.back().round);
}

void IterationRanks::set_kinds(const Iteration& iteration) {
  const std::span<const PlacedPack> packs = schedule_.packs(iteration);
  kinds_.clear();
  for (std::size_t block = 0; block < mesh_.blocks().size(); ++block) {
    kinds_.kinds.push_back(static_cast<std::uint64_t>(mesh_.blocks()[block].n_gpus));
    for (const std::uint32_t position : mesh_.packs(block)) {
      const PlacedPack& placed = packs[position];
      // Ranks with a different number of packs before a barrier are not alike.
      const std::uint64_t round = barrier_rounds_.empty() ? 0 : placed.round;
      const std::uint64_t group = placed.group;
      const std::uint32_t price = groups_[placed.group].packs.price_index(placed.pack);
      kinds_.kinds.push_back(round << 48U | group << 32U | classes_[placed.group][price]);
    }
    kinds_.end_rank();
  }
}

// Ranks that hold experts together exchange in recomputed layers too, so they must recompute the same ones.
void IterationRanks::check_checkpointing(std::size_t iteration_index) const {
  if (!shares_experts_) return;
  const Iteration& iteration = schedule_.iterations[iteration_index];
  if (ranks_of_experts(groups_[schedule_.packs(iteration).front().group].plan.plan) == 1) return;
  std::map<std::uint16_t, int> gc_layers_of;  // by round
  for (const PlacedPack& placed : schedule_.packs(iteration)) {
    const int gc_layers = groups_[placed.group].plan.plan.gc_layers;
    const auto [known, is_new] = gc_layers_of.try_emplace(placed.round, gc_layers);
    if (is_new || known->second == gc_layers) continue;
    throw std::invalid_argument("iterations[" + std::to_string(iteration_index) + "], round " +
                                std::to_string(placed.round) +
                                ": expected as many checkpointed layers in all packs, whose ranks share "
                                "experts, got " +
                                std::to_string(known->second) + " and " + std::to_string(gc_layers));
  }
}

// Number of neighbouring ranks that wait for each other and not for all ranks: those that hold experts
// together, and those of a shard group.
std::size_t IterationRanks::ranks_that_meet(std::uint32_t group) const {
  const ParallelPlan& plan = groups_[group].plan.plan;
  const std::size_t of_experts = ranks_of_experts(plan);
  if (shard_replicas(plan) == 1) return of_experts;
  const std::span<const IterationMesh::Block> blocks = mesh_.blocks();
  const int n_gpus = blocks.front().n_gpus;
  const bool are_equal =
      std::ranges::all_of(blocks, [&](const IterationMesh::Block& block) { return block.n_gpus == n_gpus; });
  if (!are_equal) return blocks.size();
  const int of_shards = shard_gpus(plan) * plan.tp_degree / stage_gpus(group, n_gpus);
  return std::max({std::size_t{1}, of_experts, static_cast<std::size_t>(of_shards)});
}

std::span<const std::uint32_t> IterationRanks::packs_of(std::size_t rank) {
  set_rounds(*latest_, rank);
  return rounds_;
}

std::span<const RankWork> IterationRanks::of(std::size_t iteration_index) {
  const Iteration& iteration = schedule_.iterations[iteration_index];
  check_checkpointing(iteration_index);
  latest_ = &iteration;
  mesh_.set(schedule_, iteration);
  name_sync_points(iteration);
  const std::size_t n_ranks = mesh_.blocks().size();
  // Ranks that share packs are simulated one by one.
  const bool merges = merges_ && !mesh_.has_shared();
  std::size_t block = merges ? ranks_that_meet(schedule_.packs(iteration).front().group) : n_ranks;
  if (n_ranks % block != 0) block = n_ranks;
  if (merges) {
    set_kinds(iteration);
    find_alike(kinds_, block, alike_);
  } else {
    alike_.kinds.assign(1, {.first_block = 0, .n_blocks = 1});
  }
  const std::size_t n_works = alike_.kinds.size() * block;
  if (works_.size() < n_works) works_.resize(n_works);
  gpus_.clear();
  for (const AlikeRanks::Kind& kind : alike_.kinds) {
    for (std::size_t r = 0; r < block; ++r) {
      RankWork& work = works_[gpus_.size()];
      set_rounds(iteration, kind.first_block * block + r);
      set_work(iteration, kind.first_block * block + r, work);
      set_sync_points(iteration, work);
      if (slow_down_) slow_down_->set(iteration_index, work);
      const double gpus = mesh_.blocks()[kind.first_block * block + r].n_gpus;
      gpus_.push_back(gpus * static_cast<double>(kind.n_blocks) / work.plan->plan.pp_degree);
    }
  }
  return {works_.data(), n_works};
}

}  // namespace packsim
