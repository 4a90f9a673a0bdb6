#include "sim/step/expert_sync.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace packsim {
namespace {

// Number of neighbouring GPUs that hold every expert once.
int block_gpus(const ParallelPlan& plan) {
  return plan.ep_degree * plan.tp_degree;
}

}  // namespace

std::size_t ranks_of_experts(const ParallelPlan& plan) {
  return static_cast<std::size_t>(std::max(1, block_gpus(plan) / plan.sequence_gpus()));
}

void ExpertSync::begin(OpGraph& graph, std::span<const RankWork> ranks, GroupLinks* links, bool merges) {
  graph_ = &graph;
  ranks_ = ranks;
  links_ = links;
  merges_ = merges;
  const auto spans = [](const RankWork& rank) { return ranks_of_experts(rank.plan->plan) > 1; };
  any_ = false;
  if (std::ranges::none_of(ranks, spans)) return;
  groups_.clear();
  group_of_.clear();
  most_micro_batches_ = 0;
  std::size_t n_chunks = 0;
  int block = -1;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const int own_block = ranks[r].first_gpu / block_gpus(ranks[r].plan->plan);
    if (r == 0 || own_block != block) groups_.push_back({.first_rank = r});
    block = own_block;
    ++groups_.back().n_ranks;
    group_of_.push_back(groups_.size() - 1);
    most_micro_batches_ = std::max(most_micro_batches_, ranks[r].micro_batches.size());
    n_chunks = ranks[r].plan->chunks.size();
  }
  // Ranks without peers wait for nobody, and where no links are shared their exchanges are like other work.
  const auto has_peers = [](const Group& group) { return group.n_ranks > 1; };
  any_ = links != nullptr || std::ranges::any_of(groups_, has_peers);
  if (!any_) return;
  for (std::vector<CollectiveId>& of_pass : collectives_) of_pass.clear();
  for (std::vector<Stretch>& of_pass : stretches_) of_pass.clear();
  rank_stretches_.clear();
  const std::size_t n_passes = 2 * groups_.size() * n_chunks * most_micro_batches_;
  collectives_.resize(std::max(collectives_.size(), n_passes));
  stretches_.resize(collectives_.size());
}

void ExpertSync::begin_pass(const Pass& pass) {
  pass_ = pass;
  const std::size_t group = group_of_[pass.rank];
  group_ = groups_[group];
  const std::size_t n_chunks = ranks_[pass.rank].plan->chunks.size();
  const std::size_t both_ways = (group * n_chunks + pass.chunk) * most_micro_batches_ + pass.micro_batch;
  const std::size_t index = 2 * both_ways + (pass.is_forward ? 0 : 1);
  of_pass_ = &collectives_[index];
  next_ = 0;
  stretches_of_pass_ = &stretches_[index];
  next_stretch_ = 0;
}

PassSegment ExpertSync::largest(const SegmentPlace& place) const {
  PassSegment largest{.time_ns = -1};
  for (const RankWork& rank : ranks_.subspan(group_.first_rank, group_.n_ranks)) {
    if (pass_.micro_batch >= rank.micro_batches.size()) continue;
    const TokenPrices& prices = *rank.micro_batches[pass_.micro_batch].price->tokens;
    const PassSegment& own =
        prices.layers[static_cast<std::size_t>(LayerKind::expert)].of(place.phase).segments[place.index];
    if (own.time_ns > largest.time_ns) largest = own;
  }
  return largest;
}

std::span<const LinkUse> ExpertSync::links(const PassSegment& exchange, int gpu) {
  if (links_ == nullptr || exchange.time_ns == 0) return {};
  const RankWork& rank = ranks_[pass_.rank];
  const int stage_gpu = gpu - rank.first_gpu;  // Counted from the first GPU of the rank.
  representatives_.clear();
  for (const RankWork& peer : ranks_.subspan(group_.first_rank, group_.n_ranks))
    representatives_.push_back(peer.first_gpu + stage_gpu);
  const int block = block_gpus(rank.plan->plan);
  const int first = rank.first_gpu / block * block + stage_gpu;
  return links_->of_states(exchange.op, first, exchange.gpus, exchange.stride, representatives_,
                           static_cast<double>(exchange.bytes));
}

CollectiveId ExpertSync::next(const SegmentPlace& place, int gpu) {
  if (next_ == of_pass_->size()) {
    const PassSegment exchange = largest(place);
    of_pass_->push_back(graph_->add_collective(SimTime{exchange.time_ns}, links(exchange, gpu)));
  }
  return (*of_pass_)[next_++];
}

bool ExpertSync::is_last_of_any() const {
  return std::ranges::any_of(ranks_.subspan(group_.first_rank, group_.n_ranks), [&](const RankWork& rank) {
    return rank.micro_batches.size() == pass_.micro_batch + 1;
  });
}

// Adds a rank to a stretch. False if the layers must be made one by one: its exchanges are not those of the
// ranks before it, or it does not compute on both sides of them, so that what it waits for could be something
// else.
bool ExpertSync::add_to_stretch(const RankWork& rank, std::span<const StateUnit> units, bool is_first) {
  const CutWork& work = cutter_.cut(rank, pass_.chunk, pass_.micro_batch, pass_.is_forward, units);
  if (work.time().of(Cause::host) > 0) return false;  // Such waits are shorter where the host is ahead.
  const std::vector<std::int64_t>& pieces_ns = work.pieces_ns();
  const std::vector<std::int64_t>& exchanges_ns = work.exchanges_ns();
  const std::size_t n = exchanges_ns.size();
  if (is_first) {
    exchanges_ns_.assign(n, 0);
    between_ns_.assign(n, 0);
  }
  if (n != exchanges_ns_.size() || pieces_ns.front() <= 0 || pieces_ns.back() <= 0) return false;
  std::int64_t inside_ns = 0;
  std::int64_t exchanged_ns = 0;
  for (std::size_t i = 0; i < n; ++i) {
    exchanges_ns_[i] = std::max(exchanges_ns_[i], exchanges_ns[i]);
    exchanged_ns += exchanges_ns[i];
    if (i == 0) continue;
    between_ns_[i] = std::max(between_ns_[i], pieces_ns[i]);
    inside_ns += pieces_ns[i];
  }
  rank_stretches_.push_back({.time = work.time(),
                             .before_ns = pieces_ns.front(),
                             .inside_ns = inside_ns,
                             .exchanged_ns = exchanged_ns,
                             .after_ns = n == 0 ? 0 : pieces_ns.back()});
  return true;
}

ExpertSync::Stretch ExpertSync::make_stretch(std::span<const StateUnit> units) {
  Stretch stretch{.is_one = true, .first_rank_stretch = rank_stretches_.size()};
  bool is_first = true;
  for (const RankWork& rank : ranks_.subspan(group_.first_rank, group_.n_ranks)) {
    if (pass_.micro_batch >= rank.micro_batches.size()) {
      rank_stretches_.emplace_back();
      continue;
    }
    stretch.is_one = stretch.is_one && add_to_stretch(rank, units, is_first);
    is_first = false;
  }
  if (!stretch.is_one || exchanges_ns_.empty()) return stretch;
  const std::int64_t exchanged_ns = std::reduce(exchanges_ns_.begin(), exchanges_ns_.end());
  const std::int64_t computed_ns = std::reduce(between_ns_.begin(), between_ns_.end());
  const CollectiveId collective = graph_->add_collective(SimTime{exchanged_ns + computed_ns});
  for (std::size_t i = stretch.first_rank_stretch; i < rank_stretches_.size(); ++i) {
    rank_stretches_[i].collective = collective;
    rank_stretches_[i].idle_ns = computed_ns - rank_stretches_[i].inside_ns;
  }
  return stretch;
}

const RankStretch* ExpertSync::next_stretch(std::span<const StateUnit> units) {
  if (!merges_) return nullptr;
  if (next_stretch_ == stretches_of_pass_->size()) stretches_of_pass_->push_back(make_stretch(units));
  const Stretch& stretch = (*stretches_of_pass_)[next_stretch_++];
  if (!stretch.is_one) return nullptr;
  return &rank_stretches_[stretch.first_rank_stretch + pass_.rank - group_.first_rank];
}

}  // namespace packsim
