#include "cli/shared/long_work.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "cli/shared/print.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {

void announce_long_work(double work_s, const std::string& search) {
  constexpr double kLong_s = 60;
  if (work_s < kLong_s) return;
  print_error("This may take about {:.0f} minute{}{}; Ctrl-C ends it.\n", std::ceil(work_s / 60),
              work_s <= 60 ? "" : "s", search.empty() ? "" : fmt::format(", and {} longer", search));
}

std::string search_for_plans(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const StrategySpec& spec : scenario.strategies) {
    if (has_open_groups(spec) || spec.searches_plan || find_strategy(spec.strategy)->needs_prices)
      names.push_back(spec.name);
  }
  return names.empty() ? "" : "the search for plans of " + join(names);
}

}  // namespace packsim
