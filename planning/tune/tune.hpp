#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "packing/sequence_parallelism.hpp"
#include "planning/tune/group_lengths.hpp"
#include "planning/tune/profiled_case.hpp"

namespace packsim {

/// The SP degrees that HBP tries.
inline constexpr std::array<int, 5> kCandidateDegrees = {1, 2, 4, 8, 16};

/// The pack lengths that HBP tries: 8K, 16K and so on, up to the first of at least needed_tokens.
std::vector<std::int64_t> candidate_lengths(std::int64_t needed_tokens);

struct TuneRequest {
  /// Candidate pack lengths, ascending; every sample fits in the last.
  std::vector<std::int64_t> lengths_tokens;
  std::vector<int> sp_degrees;  ///< ascending
  /// Near ties: other choices are reported beside the best one if they are slower by at most this fraction of
  /// their own time.
  double near_tie_fraction = 0.015;
};

/// A packing group that tune() has chosen.
struct TunedGroup {
  std::int64_t pack_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  std::vector<LengthRole> roles = {};   ///< several if groups of equal length were merged
  std::optional<double> step_s = {};    ///< if the profiler could run it
  std::vector<ProfiledCase> tied = {};  ///< other SP degrees that are about as fast at this length
};

/// A pack length that algorithm 1 computes, but for which there is no group.
struct LeftOutLength {
  enum class Reason { not_over_fastest, cannot_run };

  ListedLength listed;
  Reason reason = Reason::not_over_fastest;
};

/// Another pack length that is about as fast as the fastest one, and the groups that it would lead to.
struct TiedLength {
  ProfiledCase best;  ///< the best case of this length
  std::vector<std::int64_t> group_lengths_tokens;
};

struct Tuning {
  std::vector<ProfiledCase> cases;      ///< all profiled cases, in the order in which they were profiled
  std::vector<ProfiledCase> best;       ///< the best case of each candidate length that can run
  std::optional<ProfiledCase> fastest;  ///< the fastest of all cases; none if no case can run
  std::vector<TunedGroup> groups;       ///< in ascending order; empty if the longest candidate cannot run
  std::vector<LeftOutLength> left_out;
  std::vector<TiedLength> tied_lengths;  ///< the fastest first
};

/// HBP's algorithm 1 (arXiv 2503.07680): profiles every candidate length at every SP degree, and chooses the
/// packing groups.
///
/// The paper does not say how the groups run. Here a group of a candidate length runs with that length's best
/// degree. A group of any other length is the part of a longer pack that one GPU holds, and is profiled at SP
/// 1. If the profiler cannot run it, the group gets the checkpointed layers of the longer pack, which has as
/// many tokens on each GPU. If the group does not fit in memory, it is left out. Groups of equal length are
/// merged.
///
/// Throws std::invalid_argument if there are no candidates, or they are not ascending or below 1. Exceptions
/// of the profiler are passed on.
Tuning tune(const TuneRequest& request, const Profiler& profiler);

}  // namespace packsim
