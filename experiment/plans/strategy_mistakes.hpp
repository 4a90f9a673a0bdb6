#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// What is wrong with one strategy of a scenario.
struct StrategyMistake {
  std::size_t strategy = 0;  ///< its index
  std::string key = {};      ///< of the strategy; empty: no single one
  std::string text;
};

/// A message for each key and text, in the order in which they came first, with the strategies it holds for:
/// "job.json: /strategies/3/padding: ffd: expected ..." of one, "job.json: /strategies: isf, ffd, bfd and 21
/// more: expected ..." of several. A mistake that came twice counts once.
std::vector<std::string> messages_of(const Scenario& scenario, const std::vector<StrategyMistake>& mistakes);

}  // namespace packsim
