#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/engine/op_graph.hpp"
#include "sim/network/group_links.hpp"
#include "sim/step/rank_work.hpp"

namespace packsim {

/// Number of data-parallel ranks that hold all experts together; 1 if each rank holds all of them.
std::size_t ranks_of_experts(const ParallelPlan& plan);

/// Makes the exchanges of data-parallel ranks whose experts are spread over all of them: these ranks wait for
/// each other in every layer with experts. Ranks that hold all experts themselves do not wait. Keeps its
/// memory from step to step.
///
/// No rank waits for one that has run out of micro-batches. The ranks' micro-batches of the same index
/// exchange together, and the exchange takes as long as the largest of them takes alone.
class ExpertSync {
 public:
  /// Starts a new step. All arguments are kept by reference. Ranks that share experts lie side by side.
  void begin(OpGraph& graph, std::span<const RankWork> ranks, GroupLinks* links);
  bool any() const { return any_; }

  /// One pass of a rank's micro-batch through a chunk.
  struct Pass {
    std::size_t rank = 0;
    std::size_t chunk = 0;
    std::size_t micro_batch = 0;
    bool is_forward = true;
  };
  void begin_pass(const Pass& pass);
  /// The next exchange of the pass, which is stage `stage` of a phase of a layer with experts. gpu: the GPU
  /// that the lane simulates.
  CollectiveId next(PricedPhase LayerPrices::*phase, std::size_t stage, int gpu);

 private:
  struct Group {
    std::size_t first_rank = 0;
    std::size_t n_ranks = 0;
  };
  PricedStage largest(PricedPhase LayerPrices::*phase, std::size_t stage) const;
  std::span<const LinkUse> links(const PricedStage& exchange, int gpu);

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
};

}  // namespace packsim
