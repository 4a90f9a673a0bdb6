#include "experiment/search/rival_specs.hpp"

#include <optional>

#include "packing/planner/options.hpp"

namespace packsim {

std::vector<StrategySpec> rival_specs(const Scenario& scenario, const StrategySpec& planner) {
  const bool may_reorder = planner.options[kWindowIterations].value_or(0) == 0;
  if (!chooses_groups(planner) || !may_reorder) return {};
  std::vector<StrategySpec> specs;
  for (const Strategy& strategy : strategies()) {
    if (strategy.chooses_groups || strategy.cuts_samples) continue;
    if (!trainer_refusal(scenario.trainer.get(), strategy).empty()) continue;
    StrategySpec spec = planner;
    spec.strategy = strategy.name;
    spec.order = strategy.default_order;
    spec.window_samples = strategy.default_window_samples;
    specs.push_back(spec);
    if (strategy.forms_iterations() || spec.order == PackOrder::balanced) continue;
    spec.order = PackOrder::balanced;
    specs.push_back(spec);
  }
  return specs;
}

}  // namespace packsim
