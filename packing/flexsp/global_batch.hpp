#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/flexsp/assignment.hpp"
#include "packing/flexsp/chunks.hpp"
#include "packing/flexsp/cost.hpp"
#include "packing/pack_set.hpp"

namespace packsim::flexsp {

/// The kinds of groups that the GPUs of a cluster may form, in ascending SP degree, as in AssignmentProblem.
struct Cluster {
  struct Kind {
    int gpus_per_pack = 1;
    std::int64_t capacity_tokens = 0;
    SequenceCost cost = {};
  };
  std::vector<Kind> kinds;
  int n_gpus = 1;

  /// Tokens that all GPUs hold, if they form groups of the kind that holds most.
  std::int64_t capacity_tokens() const;
};

struct BatchOptions {
  /// Q, the number of buckets; more are used if lengths rounded up to boundaries would not fit.
  std::size_t n_buckets = 16;
  /// M', how many numbers of micro-batches are tried, from the fewest on.
  std::size_t micro_batch_tries = 5;
  ChunkOrder order = ChunkOrder::sorted;
  std::uint32_t seed = 0;  ///< seed of the random draw of sequences from their buckets
  /// Afterwards reduce the GPU time of groups that do not decide the makespan; not in FlexSP.
  bool minimize_gpu_time = true;
  SolveLimits limits = {};
};

/// One group of one micro-batch. Groups are placed in ascending degree, so first_gpu is a multiple of the
/// group's degree.
struct PlacedGroup {
  std::size_t kind = 0;  ///< position in Cluster::kinds
  int first_gpu = 0;
  std::vector<ItemIndex> items;
};

struct BatchSolution {
  std::vector<std::vector<PlacedGroup>> micro_batches;
  /// Sum over micro-batches of the slowest group's time, by the true lengths.
  double time_s = 0;
};

/// Plans one global batch as FlexSP (arXiv 2412.01523) does. It tries M' numbers of micro-batches, starting
/// with the fewest that the cluster can hold. For each number the batch is cut by a Chunker, and every
/// micro-batch is bucketed and solved. The plan with the least time_s is returned.
///
/// Two things are not published. A number of micro-batches is skipped if its lower bound is no better than
/// the best plan so far, which does not change the result. If none of the tried numbers has a solution, the
/// next larger ones are tried. With options.minimize_gpu_time every micro-batch also goes through
/// minimize_gpu_time() (packing/flexsp/minimize_gpu_time.hpp).
///
/// lengths_tokens: of all items; none may be longer than the last kind's capacity. Throws
/// std::invalid_argument for a longer one, for degrees that do not divide each other, and if the solver finds
/// no solution at all.
BatchSolution plan_global_batch(std::span<const std::int32_t> lengths_tokens,
                                std::span<const ItemIndex> items, const Cluster& cluster,
                                const BatchOptions& options, AssignmentSolver& solver);

/// Makes the assignment problem of one micro-batch. Bucket i holds the lengths [ends[i - 1], ends[i]) of
/// ascending_tokens.
AssignmentProblem assignment_problem(std::span<const std::int32_t> ascending_tokens,
                                     std::span<const std::size_t> ends, const Cluster& cluster);

}  // namespace packsim::flexsp
