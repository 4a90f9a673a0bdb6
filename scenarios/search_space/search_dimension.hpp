#pragma once

#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "packing/options/limits.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// A dimension of the plans that a search tries, beside the groups of packs: a file and a row of
/// kSearchDimensions.
struct SearchDimension {
  std::string_view key;         ///< of "packing" and of a strategy: the values to try
  std::string_view plan_key;    ///< of "parallelism": the value that a plan has
  std::string_view shown = {};  ///< short, where a text lists the space; empty: not listed
  std::vector<int> StrategySpec::*said = nullptr;
  /// Whether a plan's value is the only one where the scenario says it.
  bool plan_key_fixes = true;
  /// The values to try where none are said, of a strategy whose own plan this is; null: only the plan's own.
  std::vector<int> (*usual)(const Scenario& scenario, const ParallelPlan& own) = nullptr;
  /// A number that stands for the plan's value.
  int (*value)(const ParallelPlan& plan) = nullptr;
  /// The plan with another value, or none if no search should try it there. is_said: whether the values are.
  /// Whether the model and the cluster allow the plan is asked later.
  std::optional<ParallelPlan> (*with)(ParallelPlan plan, int value, bool is_said,
                                      const ParallelPlan& own) = nullptr;
};

/// `value` and `with` of a dimension that is a field of the plan and changes nothing else.
template <auto field>
int value_of_field(const ParallelPlan& plan) {
  return static_cast<int>(plan.*field);
}
template <auto field>
std::optional<ParallelPlan> with_field(ParallelPlan plan, int value, bool, const ParallelPlan&) {
  plan.*field = static_cast<std::remove_cvref_t<decltype(plan.*field)>>(value);
  return plan;
}

/// All numbers that divide another, ascending.
inline std::vector<int> divisors(int number) {
  std::vector<int> all;
  for (int i = 1; i <= number; ++i)
    if (number % i == 0) all.push_back(i);
  return all;
}

}  // namespace packsim
