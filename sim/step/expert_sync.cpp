#include "sim/step/expert_sync.hpp"

#include <algorithm>

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

void ExpertSync::begin(OpGraph& graph, std::span<const RankWork> ranks, GroupLinks* links) {
  graph_ = &graph;
  ranks_ = ranks;
  links_ = links;
  const auto spans = [](const RankWork& rank) { return ranks_of_experts(rank.plan->plan) > 1; };
  any_ = std::ranges::any_of(ranks, spans);
  if (!any_) return;
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
  for (std::vector<CollectiveId>& of_pass : collectives_) of_pass.clear();
  collectives_.resize(std::max(collectives_.size(), 2 * groups_.size() * n_chunks * most_micro_batches_));
}

void ExpertSync::begin_pass(const Pass& pass) {
  pass_ = pass;
  const std::size_t group = group_of_[pass.rank];
  group_ = groups_[group];
  const std::size_t n_chunks = ranks_[pass.rank].plan->chunks.size();
  const std::size_t index = (group * n_chunks + pass.chunk) * most_micro_batches_ + pass.micro_batch;
  of_pass_ = &collectives_[2 * index + (pass.is_forward ? 0 : 1)];
  next_ = 0;
}

PricedStage ExpertSync::largest(PricedPhase LayerPrices::*phase, std::size_t stage) const {
  PricedStage largest{.time_ns = -1};
  for (const RankWork& rank : ranks_.subspan(group_.first_rank, group_.n_ranks)) {
    if (pass_.micro_batch >= rank.micro_batches.size()) continue;
    const TokenPrices& prices = *rank.micro_batches[pass_.micro_batch]->tokens;
    const PricedStage& own =
        (prices.layers[static_cast<std::size_t>(LayerKind::expert)].*phase).stages[stage];
    if (own.time_ns > largest.time_ns) largest = own;
  }
  return largest;
}

std::span<const LinkUse> ExpertSync::links(const PricedStage& exchange, int gpu) {
  if (links_ == nullptr) return {};
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

CollectiveId ExpertSync::next(PricedPhase LayerPrices::*phase, std::size_t stage, int gpu) {
  if (next_ == of_pass_->size()) {
    const PricedStage exchange = largest(phase, stage);
    of_pass_->push_back(graph_->add_collective(SimTime{exchange.time_ns}, links(exchange, gpu)));
  }
  return (*of_pass_)[next_++];
}

}  // namespace packsim
