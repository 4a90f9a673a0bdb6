#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "experiment/results/mixture_result.hpp"

namespace packsim {

/// null: the scenario has no mixture.
nlohmann::ordered_json mixture_json(const std::optional<MixtureSummary>& mixture);
nlohmann::ordered_json strategy_mixture_json(const std::optional<StrategyMixture>& mixture);

}  // namespace packsim
