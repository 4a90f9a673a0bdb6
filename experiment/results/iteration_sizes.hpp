#pragma once

#include <cstdint>
#include <span>

#include "packing/schedule/iteration_size.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// The sizes of a run's iterations beside the one that is asked for (docs/compare.md, "The same job").
struct IterationSizes {
  IterationSize size = {};  ///< asked for
  std::int64_t iterations = 0;
  std::int64_t trained_tokens = 0;  ///< with repeated tokens
  std::int64_t repeated_tokens = 0;
  /// Tokens of the iterations, each counting no more than are asked for.
  std::int64_t capped_tokens = 0;
  /// The same, with packs counted as full where a number of them makes an iteration.
  std::int64_t counted_tokens = 0;
  std::int64_t largest_tokens = 0;  ///< of one iteration
  std::int64_t too_large = 0;       ///< iterations that train more than they may
  std::int64_t too_small = 0;       ///< iterations that train less than they may
  /// Iterations that may be smaller: the last of each epoch or, if iterations consist of packs of one group,
  /// of each group and epoch.
  std::int64_t last_iterations = 1;

  bool has_asked_largest() const { return too_large == 0; }
  /// On average to kIterationTolerance, but for last iterations; or where only last ones are too small. Of
  /// two iterations that follow each other, a rule that stops before a sample without room fills one at
  /// least.
  bool has_asked_least() const;
  /// Whether the mean is right to kIterationTolerance, however the iterations differ.
  bool has_asked_mean() const;
  double repeated_fraction() const;
};

/// Sizes of the iterations of a schedule. batches: [n_groups][n_packs]. pack_tokens: [n_groups], the tokens
/// that a pack counts at least when an iteration is too small: the capacity, where a number of packs makes an
/// iteration however full they are, else 0. last_iterations: IterationSizes's.
IterationSizes iteration_sizes(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                               std::span<const std::int64_t> pack_tokens, const IterationSize& size,
                               std::int64_t last_iterations);

/// Whether all iterations have the size that is asked for, and repeat no more than they may. False if there
/// are none.
bool has_asked_iterations(const IterationSizes& sizes);

/// The part of the tokens that may be repeated to fill last iterations.
inline constexpr double kRepeatTolerance = 0.01;

}  // namespace packsim
