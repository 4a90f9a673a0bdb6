#pragma once

#include <algorithm>
#include <cstdint>

namespace packsim {

/// The part of the tokens asked for by which an iteration may miss them.
inline constexpr double kIterationTolerance = 0.1;

/// What the tokens of an iteration may be (docs/compare.md, "The same job").
struct IterationSize {
  std::int64_t asked_tokens = 0;    ///< tokens_per_iteration
  std::int64_t longest_tokens = 0;  ///< of the data

  /// A tenth or the longest sample more than asked for, whichever is less. A longer sample, which is alone in
  /// its iteration, may be more.
  std::int64_t most_tokens() const { return asked_tokens + std::min(longest_tokens, tenth_tokens()); }
  /// An iteration with this many tokens has no room for the longest sample, or lacks no more than a tenth.
  std::int64_t least_tokens() const { return asked_tokens - std::max(longest_tokens, tenth_tokens()); }

 private:
  std::int64_t tenth_tokens() const {
    return static_cast<std::int64_t>(kIterationTolerance * static_cast<double>(asked_tokens));
  }
};

}  // namespace packsim
