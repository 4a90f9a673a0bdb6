#pragma once

#include <functional>
#include <optional>
#include <string>

#include "experiment/advice/changes.hpp"
#include "experiment/results/report.hpp"

namespace packsim {

/// The first change that makes the strategy fit that comes nearest to it: settings of the trainer come first,
/// then more of the same nodes, then other GPUs. None if some run fits, or none lacks memory.
///
/// load: reads the scenario of the report with settings (load_scenario()).
std::optional<FittingSearch> change_that_fits(const std::function<Scenario(const Settings&)>& load,
                                              const Report& report,
                                              const std::function<void(const std::string&)>& progress);

}  // namespace packsim
