#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "experiment/search/group_options.hpp"
#include "experiment/search/work_floors.hpp"
#include "models/parallel_plan.hpp"

namespace packsim {

/// The plans that a search starts from, by least_s(), that of the least first.
///
/// A plan that saves memory, or has more chunks of layers in a stage, computes no less than the one that does
/// not, so it has that floor. What a step takes longer with states in host memory is added when it is
/// reached.
class BasesByFloor {
 public:
  /// bases, options, floors: kept by reference.
  BasesByFloor(std::span<const ParallelPlan> bases, GroupOptions& options, WorkFloors& floors);

  bool empty() const { return left_.empty(); }
  std::size_t size() const { return left_.size(); }
  /// The least floor of those that are left.
  double least_floor_s() const { return left_.begin()->first; }
  /// Takes the plan of the least floor out, and returns its number.
  std::size_t take();
  void clear() { left_.clear(); }
  /// Makes a plan the first one, if it is left.
  void move_to_front(std::size_t base);

 private:
  struct Base {
    std::size_t number = 0;
    bool has_own_floor = true;
  };
  void set_own_floor_of_first();

  std::span<const ParallelPlan> bases_;
  GroupOptions& options_;
  WorkFloors& floors_;
  std::multimap<double, Base> left_;  // of equal floors, those that were given first
};

}  // namespace packsim
