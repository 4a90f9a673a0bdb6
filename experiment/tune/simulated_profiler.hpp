#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "planning/tune/profiled_case.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

struct ProfilerOptions {
  int n_iterations = 10;  ///< HBP's
  /// How packs become iterations: balanced, as HBP then trains its groups, or shuffled, as it trains ISF.
  PackOrder order = PackOrder::balanced;
  /// Called with what is going on.
  std::function<void(const std::string&)> progress;
};

/// The simulator in the place of a cluster. As HBP does (arXiv 2503.07680, table 19), it trains the
/// scenario's own data, packed by ISF to one length, for a few iterations; how uneven packs are is what so
/// few iterations show of it.
///
/// Samples that are longer than the packs are left out. The others are taken in one seeded order, as many as
/// fill the iterations, so all lengths and degrees train the same ones as far as they can. Padding and the
/// packer's options are those of the scenario's first strategy isf, or else hbp, if it has one. Checkpointed
/// layers are the fewest that fit a full pack. Times are scaled to tokens_per_iteration tokens of data, as
/// packs are not quite full.
///
/// The scenario must outlive the profiler.
Profiler simulated_profiler(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                            const ProfilerOptions& options);

}  // namespace packsim
