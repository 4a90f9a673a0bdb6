#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/op_graph.hpp"
#include "sim/network/group_links.hpp"
#include "sim/step/cut_pass.hpp"
#include "sim/step/rank_work.hpp"

namespace packsim {

/// Number of data-parallel ranks that hold all experts together; 1 if each rank holds all of them.
std::size_t ranks_of_experts(const ParallelPlan& plan);

/// What one rank does in a stretch: layers of a pass between which it waits for nothing but exchanges of
/// experts. All exchanges of the stretch, and what is computed between them, are one collective.
struct RankStretch {
  WorkTime time;                             ///< all that the rank computes
  std::int64_t before_ns = 0;                ///< computation before the collective, or all if there is none
  CollectiveId collective = OpGraph::kNone;  ///< kNone: the stretch has no exchange
  std::int64_t inside_ns = 0;                ///< computation during the collective
  std::int64_t exchanged_ns = 0;             ///< what the rank's own exchanges take of the collective
  std::int64_t idle_ns = 0;                  ///< what the rank waits for slower ones during the collective
  std::int64_t after_ns = 0;                 ///< computation after the collective
};

/// Makes the exchanges of data-parallel ranks whose experts are spread over all of them: these ranks wait for
/// each other in every layer with experts. Ranks that hold all experts themselves do not wait. Keeps its
/// memory from step to step.
///
/// No rank waits for one that has run out of micro-batches. The ranks' micro-batches of the same index
/// exchange together, and the exchange takes as long as the largest of them takes alone.
class ExpertSync {
 public:
  /// Starts a new step. All arguments are kept by reference. Ranks that share experts lie side by side.
  /// merges: whether there may be stretches; then nothing may slow down what a rank computes.
  void begin(OpGraph& graph, std::span<const RankWork> ranks, GroupLinks* links, bool merges);
  bool any() const { return any_; }

  /// One pass of a rank's micro-batch through a chunk.
  struct Pass {
    std::size_t rank = 0;
    std::size_t chunk = 0;
    std::size_t micro_batch = 0;
    bool is_forward = true;
  };
  void begin_pass(const Pass& pass);
  /// The next exchange of the pass, which is the segment at this place of a layer with experts. gpu: the GPU
  /// that the lane simulates.
  CollectiveId next(const SegmentPlace& place, int gpu);
  /// Whether the micro-batch of the pass is the last one of any rank that exchanges in it.
  bool is_last_of_any() const;
  /// The next stretch of the pass, through these units of its chunk, embedding, head and gradient sums
  /// included. All ranks that exchange in the pass must ask for the same units. Valid until the next call.
  /// Null where the layers must be made one by one.
  const RankStretch* next_stretch(std::span<const StateUnit> units);

 private:
  struct Group {
    std::size_t first_rank = 0;
    std::size_t n_ranks = 0;
  };
  // A stretch of all ranks of a group.
  struct Stretch {
    bool is_one = false;
    std::size_t first_rank_stretch = 0;
  };
  Stretch make_stretch(std::span<const StateUnit> units);
  bool add_to_stretch(const RankWork& rank, std::span<const StateUnit> units, bool is_first);
  PassSegment largest(const SegmentPlace& place) const;
  std::span<const LinkUse> links(const PassSegment& exchange, int gpu);

  OpGraph* graph_ = nullptr;
  std::span<const RankWork> ranks_;
  GroupLinks* links_ = nullptr;
  bool any_ = false;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;  // [n_ranks]
  std::size_t most_micro_batches_ = 0;
  std::vector<std::vector<CollectiveId>> collectives_;  // by group, chunk, micro-batch and direction
  std::vector<int> representatives_;
  Pass pass_;
  Group group_;
  std::vector<CollectiveId>* of_pass_ = nullptr;
  std::size_t next_ = 0;

  bool merges_ = false;
  std::vector<std::vector<Stretch>> stretches_;  // as collectives_
  std::vector<RankStretch> rank_stretches_;
  std::vector<Stretch>* stretches_of_pass_ = nullptr;
  std::size_t next_stretch_ = 0;
  PassCutter cutter_;
  // While a stretch is made: the longest time of any rank for each exchange, and for the work before it.
  std::vector<std::int64_t> exchanges_ns_;
  std::vector<std::int64_t> between_ns_;
};

}  // namespace packsim
