#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Lengths that are in memory.
struct NamedLengths {
  std::string name;                          ///< what reports and messages call them
  std::vector<std::int32_t> lengths_tokens;  ///< [n_samples], in the order of the data
};

/// Sources of a mix, in place of files, for any number of scenarios: the lengths are checked and hashed once.
///
/// Throws ScenarioError that lists the lengths outside of 0..16777216, and sources without samples or of one
/// name.
std::vector<LengthSource> given_sources(std::vector<NamedLengths> sources);

/// A copy of the scenario whose mix has these sources, with all of their samples, in place of its files.
/// Everything else stays, such as whether the mix is shuffled. The scenario's text, JSON and hash are those
/// of the changed scenario, in which the sources have these names.
Scenario with_sources(const Scenario& scenario, std::span<const LengthSource> given);

/// The same with given_sources(), which throws.
Scenario with_lengths(const Scenario& scenario, std::vector<NamedLengths> sources);

}  // namespace packsim
