#include "experiment/plans/keep_strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "scenarios/loader/json/suggest.hpp"

namespace packsim {

void keep_strategies(Scenario& scenario, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::vector<std::string> known;
  for (const StrategySpec& spec : scenario.strategies) known.push_back(spec.name);
  for (const std::string& name : names) {
    if (std::ranges::none_of(scenario.strategies,
                             [&](const StrategySpec& spec) { return spec.name == name; })) {
      throw std::invalid_argument(fmt::format("strategy: expected a strategy of {}, {}, got \"{}\"",
                                              scenario.path, expected_one_of(name, known), name));
    }
  }
  std::erase_if(scenario.strategies,
                [&](const StrategySpec& spec) { return std::ranges::find(names, spec.name) == names.end(); });
  if (std::ranges::find(names, scenario.baseline) == names.end()) {
    scenario.baseline = scenario.strategies.front().name;
  }
}

}  // namespace packsim
