#include "experiment/tune/search_groups.hpp"

#include <algorithm>

#include "experiment/search/find_plan.hpp"
#include "packing/options/shared_options.hpp"
#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

StrategySpec hbp_spec(const Scenario& scenario) {
  const auto hbp = std::ranges::find(scenario.strategies, "hbp", &StrategySpec::strategy);
  StrategySpec spec;
  if (hbp != scenario.strategies.end()) {
    spec = *hbp;
  } else {
    const StrategySpec& first = scenario.strategies.front();
    spec.name = spec.strategy = "hbp";
    spec.options.set(kSeed.name, first.options[kSeed]);
    spec.over_long = first.over_long;
    spec.empty = first.empty;
    spec.last_iteration = first.last_iteration;
  }
  spec.order = PackOrder::balanced;  // as HBP trains its groups
  return spec;
}

}  // namespace

std::optional<PlanSearch> search_groups(const Scenario& scenario, std::span<const TunedGroup> tuned,
                                        std::span<const std::int32_t> lengths_tokens) {
  StrategySpec spec = hbp_spec(scenario);
  spec.searches_plan = true;
  // The groups are for the scenario's own parallelism.
  for (const SearchDimension* dimension : kSearchDimensions)
    spec.*dimension->said = {dimension->value(scenario.plan)};
  spec.groups.clear();
  for (const TunedGroup& group : tuned) {
    spec.groups.push_back(
        {.capacity_tokens = group.pack_tokens, .sequence = group.sequence, .gc_layers = group.gc_layers});
  }
  if (!tuned.empty()) spec.longest_tokens = tuned.back().pack_tokens;
  SharedPrices prices(scenario);
  return find_plan(scenario, spec, lengths_tokens, prices).search;
}

}  // namespace packsim
