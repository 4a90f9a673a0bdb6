#include "experiment/search/bases_by_floor.hpp"

#include <algorithm>
#include <vector>

#include "experiment/search/base_plans.hpp"
#include "experiment/search/plan_space.hpp"

namespace packsim {
BasesByFloor::BasesByFloor(std::span<const ParallelPlan> bases, GroupOptions& options, WorkFloors& floors)
    : bases_(bases), options_(options), floors_(floors) {
  struct Root {
    ParallelPlan plan;
    double floor_s = 0;
  };
  std::vector<Root> roots;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (bases[i] == root_of(bases[i])) roots.push_back({bases[i], least_s(bases[i], options, floors)});
  }
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const auto root = std::ranges::find(roots, root_of(bases[i]), &Root::plan);
    const bool has_root = root != roots.end();
    const double floor_s = has_root ? root->floor_s : least_s(bases[i], options, floors);
    left_.emplace(floor_s, Base{.number = i, .has_own_floor = !has_root || !bases[i].offload.any()});
  }
  set_own_floor_of_first();
}

std::size_t BasesByFloor::take() {
  const std::size_t number = left_.begin()->second.number;
  left_.erase(left_.begin());
  set_own_floor_of_first();
  return number;
}

void BasesByFloor::move_to_front(std::size_t base) {
  const auto found = std::ranges::find_if(left_, [&](const auto& one) { return one.second.number == base; });
  if (found == left_.end()) return;
  auto node = left_.extract(found);
  node.key() = 0;
  node.mapped().has_own_floor = true;
  left_.insert(left_.begin(), std::move(node));
}

void BasesByFloor::set_own_floor_of_first() {
  while (!left_.empty() && !left_.begin()->second.has_own_floor) {
    auto node = left_.extract(left_.begin());
    node.mapped().has_own_floor = true;
    const ParallelPlan& base = bases_[node.mapped().number];
    node.key() += std::max(0.0, steps_s(base, options_, floors_) - steps_s(root_of(base), options_, floors_));
    left_.insert(std::move(node));
  }
}

}  // namespace packsim
