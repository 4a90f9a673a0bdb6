#include "scenarios/scenario.hpp"

#include <algorithm>

namespace packsim {

bool keeps_data_order(const LengthSpec& lengths) {
  return !lengths.shuffle && std::ranges::none_of(lengths.mix, [](const LengthSource& source) {
    return source.count.has_value() || source.weight.has_value();
  });
}

ParallelPlan group_plan(const ParallelPlan& plan, const GroupSpec& group, int gc_layers) {
  ParallelPlan own = plan;
  own.sequence = group.sequence;
  own.gc_layers = gc_layers;
  return own;
}

bool has_open_groups(const StrategySpec& spec) {
  return spec.searches_plan || find_strategy(spec.strategy)->chooses_groups;
}

const ParallelPlan& base_plan(const Scenario& scenario, const StrategySpec& spec) {
  return spec.plan ? *spec.plan : scenario.plan;
}

}  // namespace packsim
