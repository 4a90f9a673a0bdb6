#pragma once

#include "models/plan/plan_names.hpp"
#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// How GPUs get each other's keys and values: the plan's own, and all where a trainer is named, which may
/// have some of them.
inline constexpr SearchDimension kKeyExchanges = {
    .key = "cp_exchanges",
    .plan_key = "cp_exchange",
    .shown = "CP exchange",
    .said = &StrategySpec::cp_exchanges,
    .usual =
        [](const Scenario& scenario, const ParallelPlan& own) {
          if (scenario.trainer == nullptr) return std::vector<int>{static_cast<int>(own.key_exchange)};
          std::vector<int> all;
          for (const auto& row : kKeyExchangeNames) all.push_back(static_cast<int>(row.value));
          return all;
        },
    .value = value_of_field<&ParallelPlan::key_exchange>,
    .with = with_field<&ParallelPlan::key_exchange>};

}  // namespace packsim
