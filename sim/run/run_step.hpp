#pragma once

#include <optional>
#include <span>

#include "sim/engine/op_engine.hpp"
#include "sim/step/step_builder.hpp"

namespace packsim {

/// How an optimizer step is simulated.
struct StepOptions {
  StepDetail detail = StepDetail::micro_batches;
  /// Null: transfers do not share links, and each takes its time alone.
  const Topology* topology = nullptr;
  /// How many times as long computation takes while its GPU communicates; at least 1.
  double slow_down = 1;
  /// Whether neighbouring work of one cause may become one operation, which takes the same time. Traces need
  /// each pass by itself.
  bool merges_work = true;
};

/// The memory in which steps are built and run. Steps of one run use one arena, so that a step allocates only
/// where it is larger than all before it.
class StepArena {
 public:
  explicit StepArena(const StepOptions& options);

 private:
  friend struct StepRun run_step(std::span<const RankWork> ranks, StepArena& arena, SimTime start);

  StepOptions options_;
  StepBuilder builder_;
  OpGraph graph_;
  std::optional<FlowNetwork> network_;
  OpEngine engine_;
};

/// A simulated step. Everything except start and end is in the arena and valid until the arena's next step.
struct StepRun {
  SimTime start;
  SimTime end;
  const OpGraph& graph;
  const OpEngine& engine;
  /// [n_ranks x pp_degree]: time by cause that each simulated GPU computes, or waits for exchanges inside its
  /// rank if no other transfer shares their links.
  std::span<const WorkTime> work;
  /// [n_ranks x pp_degree]: what each does inside collectives that stand for several exchanges of experts.
  /// The engine's account has it as exposed time of experts.
  std::span<const InsideTime> inside;
  /// The passes of micro-batches through chunks; those of one simulated GPU are in the order in which it runs
  /// them.
  std::span<const MadePass> passes;
};

/// Builds the operations of one optimizer step of these ranks and runs them from `start` on. Throws what
/// StepBuilder::build() and OpEngine::run() throw.
StepRun run_step(std::span<const RankWork> ranks, StepArena& arena, SimTime start = {});

}  // namespace packsim
