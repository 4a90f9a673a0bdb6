#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Settings of a scenario, as --set takes them: "cluster.nic_bytes_per_s=1e+11".
using Settings = std::vector<std::string>;

/// A change of a job that may be worth its price.
struct PossibleChange {
  std::string_view what;  ///< "network cards twice as fast"
  /// The settings that make the change for a strategy; none where it would change nothing or cannot be.
  std::function<std::optional<Settings>(const Scenario&, const StrategySpec&)> settings;
};

/// All changes that are tried. A new one is a row.
const std::vector<PossibleChange>& possible_changes();

/// What-ifs that no setting of a real job reaches: exchange and waits at no cost (what_if.free).
const std::vector<PossibleChange>& ideal_changes();

}  // namespace packsim
