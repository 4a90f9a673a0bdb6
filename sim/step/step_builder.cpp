#include "sim/step/step_builder.hpp"

#include <algorithm>
#include <stdexcept>

namespace packsim {

namespace {

// Whether the rank and all of its micro-batches go through pipelines like the first rank's.
bool is_of_pipeline(const RankWork& rank, const PricedPlan& first) {
  const auto is_like = [&](const PricedPlan& plan) {
    return plan.chunks.size() == first.chunks.size() && plan.plan.pp_degree == first.plan.pp_degree;
  };
  return is_like(*rank.plan) &&
         std::ranges::all_of(rank.places, [&](const MicroBatchPlace& place) { return is_like(*place.plan); });
}

}  // namespace

StepBuilder::StepBuilder(StepDetail detail, const Topology* topology, double slow_down)
    : detail_(detail),
      merges_experts_(detail == StepDetail::micro_batches && topology == nullptr && slow_down == 1),
      program_builder_(detail) {
  if (topology != nullptr) links_.emplace(*topology);
}

void StepBuilder::build(std::span<const RankWork> ranks, OpGraph& graph) {
  graph.clear();
  work_.clear();
  inside_.clear();
  passes_.clear();
  if (ranks.empty()) return;
  const PricedPlan& first = *ranks.front().plan;
  const auto n_stages = static_cast<std::size_t>(first.plan.pp_degree);
  const std::size_t n_chunks = first.chunks.size();
  const std::size_t n_lanes = ranks.size() * n_stages;
  GroupLinks* links = links_ ? &*links_ : nullptr;
  lanes_.resize(std::max(lanes_.size(), n_lanes));
  states_.resize(std::max(states_.size(), n_chunks));
  for (std::size_t chunk = 0; chunk < n_chunks; ++chunk)
    states_[chunk].begin(graph, first.states[chunk], first.plan, links);
  for (std::size_t i = 0; i < n_lanes; ++i) {
    const RankWork& rank = ranks[i / n_stages];
    if (!is_of_pipeline(rank, first))
      throw std::invalid_argument("expected ranks of equal pipelines in one step");
    const std::size_t stage = i % n_stages;
    const int gpu = rank.stage_gpu(stage);
    for (std::size_t chunk = stage; chunk < n_chunks; chunk += n_stages)
      states_[chunk].add_representative(gpu);
    lanes_[i].begin(graph, static_cast<std::uint32_t>(i), gpu, detail_, links);
  }
  experts_.begin(graph, ranks, links, merges_experts_);
  sync_points_.begin(graph);
  const bool synchronise =
      std::ranges::any_of(ranks, [](const RankWork& rank) { return !rank.sync_points.empty(); });
  if (synchronise && (n_stages > 1 || experts_.any())) {
    throw std::invalid_argument(
        "expected no pipeline and no experts over several ranks where ranks share micro-batches or meet "
        "between them");
  }
  const std::span<StateExchange> states(states_.data(), n_chunks);
  for (std::size_t r = 0; r < ranks.size(); ++r)
    program_builder_.make(ranks[r], r, std::span(lanes_).subspan(r * n_stages, n_stages), states, experts_,
                          sync_points_, passes_);
  for (std::size_t i = 0; i < n_lanes; ++i) {
    work_.push_back(lanes_[i].time());
    inside_.push_back(lanes_[i].inside());
  }
}

}  // namespace packsim
