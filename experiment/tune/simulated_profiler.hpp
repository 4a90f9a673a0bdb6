#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "planning/tune/profiled_case.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

struct ProfilerOptions {
  int n_iterations = 10;  ///< as in HBP
  /// How packs become iterations: balanced, as HBP later trains its groups, or shuffled, as it trains ISF.
  PackOrder order = PackOrder::balanced;
  /// Called with progress messages.
  std::function<void(const std::string&)> progress;
};

/// A profiler that simulates the cluster. As HBP does (arXiv 2503.07680, table 19), it trains the scenario's
/// own data, packed by ISF to one length, for a few iterations. So the imbalance between packs is that of
/// these iterations only.
///
/// Samples that are longer than the packs are left out. The others are taken in one seeded order, as many as
/// fill the iterations, so that all lengths and degrees train the same samples as far as possible. Padding
/// and the packer's options are those of the scenario's first strategy isf, or else of hbp, if it has one.
/// Checkpointed layers are the fewest with which a full pack fits in memory. Times are scaled to
/// tokens_per_iteration tokens of data, because packs are not quite full.
///
/// The scenario must outlive the profiler.
Profiler simulated_profiler(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                            const ProfilerOptions& options);

}  // namespace packsim
