#include "sim/run/run_step.hpp"

namespace packsim {

// A step whose stages are all shown keeps each of them as an operation of its own.
StepArena::StepArena(const StepOptions& options)
    : options_(options),
      builder_(options.detail, options.topology, options.slow_down),
      graph_(options.merges_work && options.detail == StepDetail::micro_batches) {
  if (options.topology != nullptr) network_.emplace(options.topology->link_bytes_per_s());
}

StepRun run_step(std::span<const RankWork> ranks, StepArena& arena, SimTime start) {
  arena.builder_.build(ranks, arena.graph_);
  FlowNetwork* network = arena.network_ ? &*arena.network_ : nullptr;
  const SimTime end =
      arena.engine_.run(arena.graph_, network, {.slow_down = arena.options_.slow_down}, start);
  return {.start = start,
          .end = end,
          .graph = arena.graph_,
          .engine = arena.engine_,
          .work = arena.builder_.work(),
          .inside = arena.builder_.inside(),
          .passes = arena.builder_.passes()};
}

}  // namespace packsim
