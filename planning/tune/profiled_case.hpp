#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// Packs of one length at one SP degree and number of checkpointed layers, and what running them showed.
struct ProfiledCase {
  std::int64_t pack_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  /// Mean seconds of an iteration; none where the case cannot run. All cases of a profile have the same
  /// number of tokens in an iteration.
  std::optional<double> step_s = {};
  std::optional<double> peak_memory_bytes = {};  ///< of the fullest GPU, where it was read
  std::string infeasible_reason = {};            ///< why it cannot run

  bool feasible() const { return step_s.has_value(); }
  bool operator==(const ProfiledCase&) const = default;
};

/// Runs packs of a length at an SP degree, with the fewest checkpointed layers that fit or with several
/// numbers of them. Returns no case where it cannot run such packs.
using Profiler = std::function<std::vector<ProfiledCase>(std::int64_t pack_tokens, int sp_degree)>;

}  // namespace packsim
