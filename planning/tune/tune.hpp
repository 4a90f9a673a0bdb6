#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packing/sequence_parallelism.hpp"
#include "planning/tune/group_lengths.hpp"
#include "planning/tune/profiled_case.hpp"

namespace packsim {

struct TuneRequest {
  std::vector<std::int64_t> lengths_tokens;  ///< candidates, ascending; the last one holds every sample
  std::vector<int> sp_degrees;               ///< ascending
  /// Choices that are slower by at most this part of their own time are named beside the best one.
  double near_tie_fraction = 0.015;
};

/// A packing group that was chosen.
struct TunedGroup {
  std::int64_t pack_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  std::vector<LengthRole> roles = {};   ///< several where equal lengths merged
  std::optional<double> step_s = {};    ///< where the profiler could run it
  std::vector<ProfiledCase> tied = {};  ///< other SP degrees that are about as fast at this length
};

/// A length that algorithm 1 computes and that no group has.
struct LeftOutLength {
  enum class Reason { not_over_fastest, cannot_run };

  ListedLength listed;
  Reason reason = Reason::not_over_fastest;
};

/// Another length that is about as fast as the fastest one, and the groups that it would lead to.
struct TiedLength {
  ProfiledCase best;  ///< at this length
  std::vector<std::int64_t> group_lengths_tokens;
};

struct Tuning {
  std::vector<ProfiledCase> cases;      ///< everything that was profiled, in that order
  std::vector<ProfiledCase> best;       ///< of each candidate length that can run
  std::optional<ProfiledCase> fastest;  ///< of them all; none where nothing can run
  std::vector<TunedGroup> groups;       ///< ascending; none where the longest candidate cannot run
  std::vector<LeftOutLength> left_out;
  std::vector<TiedLength> tied_lengths;  ///< the fastest first
};

/// HBP's algorithm 1 (arXiv 2503.07680): profiles every candidate length at every SP degree, and chooses the
/// packing groups.
///
/// The paper leaves open how the groups run. A group of a candidate length runs with that length's best
/// degree. A group of another length, which can only be what one GPU holds of a longer pack, is profiled at
/// SP 1. Where the profiler cannot run it, the group takes the checkpointed layers of the longer pack, which
/// puts as many tokens on a GPU; where it does not fit, there is no such group. Equal lengths are one group.
///
/// Throws std::invalid_argument where there are no candidates, or they are not ascending or under 1, and
/// whatever the profiler throws.
Tuning tune(const TuneRequest& request, const Profiler& profiler);

}  // namespace packsim
