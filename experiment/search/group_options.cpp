#include "experiment/search/group_options.hpp"

#include <algorithm>
#include <array>

#include "experiment/plans/plan_group.hpp"
#include "experiment/pricers/job_of.hpp"
#include "packing/schedule/iteration_size.hpp"
#include "sim/run/plan_cost.hpp"

namespace packsim {
namespace {

constexpr std::array<int, 8> kPacksOfRank = {1, 2, 3, 4, 6, 8, 12, 16};
// Packs may be so many times as long as a rank's share of an iteration; those of of_depth(), whose samples
// need not fill every pack, in any case.
constexpr std::int64_t kMostOfShare = 4;
constexpr std::int64_t kMostOfShareByDepth = 2;

GroupOption make_option(const Scenario& scenario, const ParallelPlan& base,
                        const SequenceParallelism& sequence, std::int64_t capacity_tokens,
                        std::int64_t longest_packed_tokens) {
  GroupOption option{.group = {.capacity_tokens = capacity_tokens, .sequence = sequence, .gc_layers = {}}};
  const int n_ranks = packed_gpus(base) / sequence.gpus_per_pack();
  // Plans with more micro-batches than a rank may have are refused when they are tried.
  const std::int64_t n_that_fit = scenario.training.tokens_per_iteration / (n_ranks * capacity_tokens);
  const int n_micro_batches = static_cast<int>(std::clamp<std::int64_t>(n_that_fit, 1, kMostMicroBatches));
  const PlannedGroup full = plan_group(scenario, base, option.group, capacity_tokens, n_micro_batches);
  const std::int64_t least_tokens = std::min(capacity_tokens, longest_packed_tokens);
  option.fits = full.fits_with_margin;
  option.may_fit = option.fits || plan_group(scenario, base, option.group, least_tokens, 1).fits_with_margin;
  option.group.gc_layers = full.gc_layers;
  option.plan = group_plan(base, option.group, full.gc_layers);
  option.fill_factor = 1 + fill_rounds(base) / n_micro_batches;
  return option;
}

}  // namespace

const GroupOption& GroupOptions::of(const ParallelPlan& base, const SequenceParallelism& sequence,
                                    std::int64_t capacity_tokens) {
  std::deque<GroupOption>& options = made_[base];
  const auto known = std::ranges::find_if(options, [&](const GroupOption& one) {
    return one.group.capacity_tokens == capacity_tokens && one.group.sequence == sequence;
  });
  if (known != options.end()) return *known;
  return options.emplace_back(
      make_option(scenario_, base, sequence, capacity_tokens, longest_packed_tokens_));
}

std::vector<SequenceParallelism> GroupOptions::sequences(const ParallelPlan& base) const {
  return ways_to_try(job_of(scenario_), base);
}

std::int64_t GroupOptions::longest_pack(const ParallelPlan& base, const SequenceParallelism& sequence) const {
  const int gpus = sequence.gpus_per_pack();
  const std::int64_t share_tokens = scenario_.training.tokens_per_iteration * gpus / packed_gpus(base);
  return std::max({kMostOfShareByDepth * share_tokens,
                   std::min(kMostOfShare * share_tokens, most_above_share_tokens_),
                   round_up_to(longest_tokens_, gpus)});
}

const std::vector<GroupOption>& GroupOptions::all(const ParallelPlan& base) {
  const auto [place, is_new] = all_.try_emplace(base);
  std::vector<GroupOption>& options = place->second;
  if (!is_new) return options;
  const auto add = [&](const SequenceParallelism& sequence, std::int64_t capacity_tokens, bool fills,
                       bool is_above_share = false) {
    const bool is_known = std::ranges::any_of(options, [&](const GroupOption& one) {
      return one.group.sequence == sequence && one.group.capacity_tokens == capacity_tokens;
    });
    if (is_known || capacity_tokens == 0) return;
    options.push_back(of(base, sequence, capacity_tokens));
    options.back().fills_iteration = fills;
    options.back().is_above_share = is_above_share;
  };
  const IterationSize size{scenario_.training.tokens_per_iteration, longest_tokens_};
  for (const SequenceParallelism& sequence : sequences(base)) {
    const int gpus = sequence.gpus_per_pack();
    const std::int64_t rank_tokens = scenario_.training.tokens_per_iteration * gpus / packed_gpus(base);
    for (const int n_packs : kPacksOfRank) add(sequence, rank_tokens / n_packs / gpus * gpus, true);
    add(sequence, round_up_to(longest_tokens_, gpus), false);
    const std::int64_t most_rank_tokens = size.most_tokens() * gpus / packed_gpus(base);
    for (const std::int64_t tokens :
         {most_rank_tokens, rank_tokens * 3 / 2, 2 * rank_tokens, kMostOfShare * rank_tokens}) {
      if (tokens <= most_above_share_tokens_) add(sequence, tokens / gpus * gpus, false, true);
    }
  }
  return options;
}

const std::vector<GroupOption>& GroupOptions::of_depth(const ParallelPlan& base, int gc_layers,
                                                       Sharing sharing) {
  ParallelPlan key = base;
  key.gc_layers = gc_layers = trainer_layers(scenario_.trainer.get(), scenario_.model, base, gc_layers);
  const auto [place, is_new] = of_depth_[key].try_emplace(sharing);
  std::vector<GroupOption>& groups = place->second;
  if (!is_new) return groups;
  int last_degree = 0;
  const std::vector<SequenceParallelism> ways = sequences(base);
  for (auto way = ways.begin(); way != ways.end(); ++way) {
    const int gpus = way->gpus_per_pack();
    const bool is_last = way + 1 == ways.end() || (way + 1)->gpus_per_pack() != gpus;
    const bool is_in_node = way->ulysses * base.tp_degree <= scenario_.cluster.gpus_per_node;
    const bool is_meant = sharing == Sharing::ulysses || is_last || (sharing == Sharing::node && is_in_node);
    if (gpus == last_degree || !is_meant) continue;
    last_degree = gpus;
    const std::int64_t most_tokens =
        std::max(longest_tokens_,
                 kMostOfShareByDepth * scenario_.training.tokens_per_iteration * gpus / packed_gpus(base));
    const int gpus_of_pack = gpus * base.tp_degree;
    const GroupSpec group{.capacity_tokens = 0, .sequence = *way, .gc_layers = {}};
    const std::int64_t capacity_tokens =
        most_tokens_that_fit(job_of(scenario_), group_plan(base, group, gc_layers),
                             (most_tokens + gpus_of_pack - 1) / gpus_of_pack) *
        gpus_of_pack;
    const std::int64_t before_tokens = groups.empty() ? 0 : groups.back().group.capacity_tokens;
    if (capacity_tokens > before_tokens) groups.push_back(of(base, *way, capacity_tokens));
  }
  return groups;
}

}  // namespace packsim
