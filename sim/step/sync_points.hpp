#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/op_graph.hpp"

namespace packsim {

/// The exchanges of a micro-batch that several simulated GPUs compute together. All of them go through the
/// same exchanges in the same order, and each exchange is one collective of all.
class SharedExchanges {
 public:
  void begin(OpGraph& graph) {
    graph_ = &graph;
    ids_.clear();
  }
  bool is_made(std::size_t position) const { return position < ids_.size(); }
  /// The collective at a position in the micro-batch; every lane counts its own position. The first call for
  /// a position, by the lane of the first GPU, makes the collective. Later calls ignore their time and links.
  CollectiveId at(std::size_t position, SimTime time, std::span<const LinkUse> uses) {
    if (position == ids_.size()) ids_.push_back(graph_->add_collective(time, uses));
    return ids_[position];
  }

 private:
  OpGraph* graph_ = nullptr;
  std::vector<CollectiveId> ids_;
};

/// The points of a step at which ranks wait for each other, besides exchanges of optimizer states and of
/// experts: before a micro-batch that they share, and between rounds. Keeps its memory from step to step.
class SyncPoints {
 public:
  /// Starts a new step. The graph is kept by reference.
  void begin(OpGraph& graph) {
    graph_ = &graph;
    n_ = 0;
  }
  CollectiveId collective(std::uint32_t id) { return of(id).collective; }
  SharedExchanges& exchanges(std::uint32_t id) { return of(id).exchanges; }

 private:
  struct Point {
    CollectiveId collective = 0;
    SharedExchanges exchanges;
  };
  Point& of(std::uint32_t id) {
    for (; n_ <= id; ++n_) {
      if (n_ == points_.size()) points_.emplace_back();
      points_[n_].collective = graph_->add_collective(SimTime{});
      points_[n_].exchanges.begin(*graph_);
    }
    return points_[id];
  }

  OpGraph* graph_ = nullptr;
  std::size_t n_ = 0;          // points of this step
  std::vector<Point> points_;  // Those of this step come first; others are left from earlier steps.
};

}  // namespace packsim
