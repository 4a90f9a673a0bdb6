#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "experiment/results/plan_search.hpp"

namespace packsim {

/// What a search has tried and found, as in report.json; null if there was no search.
nlohmann::ordered_json plan_search_json(const std::optional<PlanSearch>& search);

}  // namespace packsim
