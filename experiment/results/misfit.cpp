#include "experiment/results/misfit.hpp"

namespace packsim {

const PlannedGroup* largest_misfit(const StrategyResult& run) {
  const PlannedGroup* worst = nullptr;
  for (const PlannedGroup& group : run.groups) {
    if (group.feasible) continue;
    if (worst == nullptr || scarcest_memory(group).fraction() > scarcest_memory(*worst).fraction())
      worst = &group;
  }
  return worst;
}

const StrategyResult* nearest_to_fitting(const Report& report) {
  const StrategyResult* nearest = nullptr;
  double least = 0;
  for (const StrategyResult& run : report.runs) {
    const PlannedGroup* worst = run.failure ? nullptr : largest_misfit(run);
    if (worst == nullptr) continue;
    const double fraction = scarcest_memory(*worst).fraction();
    if (nearest != nullptr && fraction >= least) continue;
    nearest = &run;
    least = fraction;
  }
  return nearest;
}

}  // namespace packsim
