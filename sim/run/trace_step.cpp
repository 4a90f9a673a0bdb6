#include "sim/run/trace_step.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "sim/run/run_step.hpp"
#include "sim/run/step_memory.hpp"

namespace packsim {
namespace {

std::vector<TracedLane> traced_lanes(std::span<const RankWork> ranks) {
  std::vector<TracedLane> lanes;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const ParallelPlan& plan = ranks[r].plan->plan;
    for (int stage = 0; stage < plan.pp_degree; ++stage) {
      lanes.push_back({.rank = static_cast<int>(r),
                       .stage = stage,
                       .first_gpu = ranks[r].stage_gpu(static_cast<std::size_t>(stage)),
                       .n_gpus = ranks[r].stage_gpus()});
    }
  }
  return lanes;
}

// The pass from its first to its last operation on the lane's compute stream; nullopt if it has none there.
std::optional<TracedPass> traced_pass(const MadePass& made, StreamId stream, std::span<const TracedOp> ops) {
  TracedPass pass{.lane = made.lane,
                  .stream = stream,
                  .chunk = made.chunk,
                  .micro_batch = made.micro_batch,
                  .is_forward = made.is_forward};
  bool is_first = true;
  for (const TracedOp& op : ops.subspan(made.first_op, made.end_op - made.first_op)) {
    if (op.stream != stream) continue;
    if (is_first) pass.start = op.start;
    pass.end = std::max(pass.end, op.end);
    is_first = false;
  }
  if (is_first) return std::nullopt;
  return pass;
}

// Memory of the kept operations, and of the text of those of the first ranks, which grows by copying:
// measured 335 to 570 bytes for both.
double text_bytes(std::span<const RankWork> ranks, std::size_t n_text_ranks) {
  constexpr double kText_bytes = 400;
  return sizeof(TracedOp) * estimated_ops(ranks) +
         kText_bytes * estimated_ops(ranks.first(std::min(ranks.size(), n_text_ranks)));
}

}  // namespace

TracedStep trace_step(const Schedule& schedule, std::span<const PricedGroup> groups,
                      SimulationOptions options, std::size_t iteration_index, SimTime start,
                      std::size_t n_text_ranks) {
  if (iteration_index >= schedule.iterations.size()) {
    throw std::out_of_range("iteration " + std::to_string(iteration_index) + " of a schedule of " +
                            std::to_string(schedule.iterations.size()));
  }
  if (!options.ranks_wait) throw std::invalid_argument("expected ranks that wait for each other in a trace");
  options.merges_alike = false;
  IterationRanks iteration_ranks(schedule, groups, options);
  const std::span<const RankWork> ranks = iteration_ranks.of(iteration_index);
  if (options.detail == StepDetail::stages)
    require_memory(std::max(estimated_step_bytes(ranks, true), text_bytes(ranks, n_text_ranks)),
                   options.most_step_bytes);
  StepArena arena({.detail = options.detail,
                   .topology = options.topology,
                   .slow_down = options.slow_down,
                   .merges_work = false});
  const StepRun run = run_step(ranks, arena, start);
  TracedStep step;
  step.start = run.start;
  step.end = run.end;
  step.lanes = traced_lanes(ranks);
  trace(run.graph, run.engine, step.ops);
  int rank_of_packs = -1;
  std::span<const std::uint32_t> packs;
  for (const MadePass& made : run.passes) {
    auto pass = traced_pass(made, run.graph.compute_stream(made.lane), step.ops);
    if (!pass) continue;
    const int rank = step.lanes[made.lane].rank;
    if (rank != rank_of_packs) packs = iteration_ranks.packs_of(static_cast<std::size_t>(rank));
    rank_of_packs = rank;
    pass->pack = packs[made.micro_batch];
    step.passes.push_back(*pass);
  }
  return step;
}

}  // namespace packsim
