#include "scenarios/search_space/plan_hash.hpp"

#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {

std::size_t PlanHash::operator()(const ParallelPlan& plan) const {
  std::size_t hash = 0;
  const auto add = [&](int value) {
    constexpr std::size_t kOdd = 0x9E3779B97F4A7C15;
    hash = (hash ^ static_cast<std::size_t>(value)) * kOdd;
  };
  for (const SearchDimension* dimension : kSearchDimensions) add(dimension->value(plan));
  for (const int value : {plan.sequence.ulysses, plan.sequence.ring, plan.gc_layers}) add(value);
  return hash ^ (hash >> 32U);
}

}  // namespace packsim
