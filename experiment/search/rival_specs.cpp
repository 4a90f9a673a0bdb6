#include "experiment/search/rival_specs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "packing/planner/options.hpp"

namespace packsim {
namespace {

// One pack length, several, and packs of several degrees in each iteration.
constexpr std::array<std::string_view, 3> kScouts = {"bfd", "hbp", "flexsp"};

bool is_scout(const StrategySpec& spec) {
  return std::ranges::find(kScouts, spec.strategy) != kScouts.end();
}

}  // namespace

std::ptrdiff_t n_scouts(std::span<const StrategySpec> rivals) {
  return std::ranges::count_if(rivals, is_scout);
}

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
  std::ranges::stable_partition(specs, is_scout);
  return specs;
}

}  // namespace packsim
