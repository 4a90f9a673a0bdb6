#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/op_graph.hpp"

namespace packsim {

/// Exchanges of a micro-batch whose GPUs are simulated by several lanes. Every lane goes through the same
/// ones in the same order; each is one collective of all of them.
class SharedExchanges {
 public:
  void begin(OpGraph& graph) {
    graph_ = &graph;
    ids_.clear();
  }
  bool is_made(std::size_t position) const { return position < ids_.size(); }
  /// The collective at a lane's position, which it counts itself. The first lane, that of the first GPU,
  /// makes it: the time and links are read only from there.
  CollectiveId at(std::size_t position, SimTime time, std::span<const LinkUse> uses) {
    if (position == ids_.size()) ids_.push_back(graph_->add_collective(time, uses));
    return ids_[position];
  }

 private:
  OpGraph* graph_ = nullptr;
  std::vector<CollectiveId> ids_;
};

/// Where ranks of one step wait for each other outside the exchange of states and experts: before a
/// micro-batch that they share, and between rounds. Keeps its memory from step to step.
class RankMeetings {
 public:
  /// A step of its own; the graph is kept by reference.
  void begin(OpGraph& graph) {
    graph_ = &graph;
    n_ = 0;
  }
  CollectiveId meeting(std::uint32_t id) { return of(id).collective; }
  SharedExchanges& exchanges(std::uint32_t id) { return of(id).exchanges; }

 private:
  struct Meeting {
    CollectiveId collective = 0;
    SharedExchanges exchanges;
  };
  Meeting& of(std::uint32_t id) {
    for (; n_ <= id; ++n_) {
      if (n_ == meetings_.size()) meetings_.emplace_back();
      meetings_[n_].collective = graph_->add_collective(SimTime{});
      meetings_[n_].exchanges.begin(*graph_);
    }
    return meetings_[id];
  }

  OpGraph* graph_ = nullptr;
  std::size_t n_ = 0;              // of this step
  std::vector<Meeting> meetings_;  // and more of earlier steps
};

}  // namespace packsim
