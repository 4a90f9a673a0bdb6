#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Lengths that are in memory.
struct NamedLengths {
  std::string name;                          ///< what reports and messages call them
  std::vector<std::int32_t> lengths_tokens;  ///< [n_samples], in the order of the data
};

/// A copy of the scenario whose mix has these sources, with all of their samples, in place of its files.
/// Everything else stays, such as whether the mix is shuffled. The scenario's text, JSON and hash are those
/// of the changed scenario, in which the sources have these names.
///
/// Throws ScenarioError that lists the lengths outside of 0..16777216, and sources without samples or of one
/// name.
Scenario with_lengths(const Scenario& scenario, std::vector<NamedLengths> sources);

}  // namespace packsim
