#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/flexsp/assignment.hpp"
#include "packing/flexsp/chunks.hpp"
#include "packing/flexsp/cost.hpp"
#include "packing/pack_set.hpp"

namespace packsim::flexsp {

/// The groups that a cluster may form of its GPUs: degrees ascending, as AssignmentProblem has them.
struct Cluster {
  struct Kind {
    int gpus_per_pack = 1;
    std::int64_t capacity_tokens = 0;
    SequenceCost cost = {};
  };
  std::vector<Kind> kinds;
  int n_gpus = 1;

  /// Tokens on all GPUs, in groups of the roomiest kind.
  std::int64_t capacity_tokens() const;
};

struct BatchOptions {
  std::size_t n_buckets = 16;         ///< Q; more where the bucketed sequences would not fit
  std::size_t micro_batch_tries = 5;  ///< M': numbers of micro-batches that are tried, from the fewest on
  ChunkOrder order = ChunkOrder::sorted;
  std::uint32_t seed = 0;         ///< of the draw of sequences from their buckets
  bool minimize_gpu_time = true;  ///< what does not decide the makespan takes the least GPU time; ours
  SolveLimits limits = {};
};

/// One group of one micro-batch. Groups are in ascending degree, so that first_gpu is a multiple of it.
struct PlacedGroup {
  std::size_t kind = 0;  ///< position in Cluster::kinds
  int first_gpu = 0;
  std::vector<ItemIndex> items;
};

struct BatchSolution {
  std::vector<std::vector<PlacedGroup>> micro_batches;
  double time_s = 0;  ///< sum over micro-batches of the slowest group, with the sequences' own lengths
};

/// Plans one global batch as FlexSP (arXiv 2412.01523) does: the fewest micro-batches that the cluster can
/// hold, and M' - 1 more; each cut by chunks(), bucketed and solved; the number with the least time_s is
/// taken.
///
/// Beyond what is published: numbers of micro-batches whose lower bound is no better than what is found
/// already are skipped, which changes no result; and where no number that is tried has a solution, the next
/// ones are. With options.minimize_gpu_time every micro-batch goes through minimize_gpu_time()
/// (packing/flexsp/minimize_gpu_time.hpp).
///
/// lengths_tokens: of items, none longer than the last kind's capacity. Throws std::invalid_argument for a
/// longer one, for degrees that do not divide each other, and where the solver finds nothing at all.
BatchSolution plan_global_batch(std::span<const std::int32_t> lengths_tokens,
                                std::span<const ItemIndex> items, const Cluster& cluster,
                                const BatchOptions& options, AssignmentSolver& solver);

/// The integer program of a micro-batch: ascending lengths in buckets that end at `ends`.
AssignmentProblem assignment_problem(std::span<const std::int32_t> ascending_tokens,
                                     std::span<const std::size_t> ends, const Cluster& cluster);

}  // namespace packsim::flexsp
