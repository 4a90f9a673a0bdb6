#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "experiment/results/plan_search.hpp"
#include "experiment/results/planned_group.hpp"

namespace packsim {

/// null where there is none.
template <typename T>
nlohmann::ordered_json optional_json(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// What a search has tried and found, as in report.json; null if there was no search.
nlohmann::ordered_json plan_search_json(const std::optional<PlanSearch>& search);

/// The plan of a run as a strategy of a scenario says it: "parallelism", and "groups" with each group's pack
/// length, degrees and checkpointed layers. plan: of the run.
nlohmann::ordered_json run_plan_json(const ParallelPlan& plan, std::span<const PlannedGroup> groups);

}  // namespace packsim
