#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// What one source of a mix gave.
struct DrawnSource {
  std::string name;  ///< as the scenario spells it
  std::string hash;  ///< of the file's bytes
  std::int64_t n_samples = 0;
  std::int64_t n_tokens = 0;
  std::int64_t repeated_samples = 0;  ///< drawn although they were drawn before
};

struct DrawnLengths {
  std::vector<std::int32_t> lengths_tokens;  ///< [n_samples]
  std::vector<DrawnSource> sources;          ///< in the order of the mix
};

/// The data set that a scenario asks for. The samples of a source keep the order of its file; the mix is the
/// sources one after another, shuffled where the spec says so. Deterministic: source i is drawn with seed +
/// i, the mix shuffled with seed + number of sources.
///
/// Throws ScenarioError for bad rows and for sources with fewer samples than asked for, all of them;
/// FileError where a file cannot be read.
DrawnLengths draw_lengths(const LengthSpec& spec, std::uint32_t seed);

/// The subsets of a mixture, whose draws are still to be made.
struct DrawnSubsets {
  /// The samples of the sources one after another, in the order of the files.
  DrawnLengths lengths;
  std::vector<std::uint32_t> subset_of;  ///< [n_samples], by the sources of the mix
  std::vector<std::uint32_t> group_of;   ///< [n_samples], from 0 in each subset, by LengthSource::groups
};

/// The samples that draw_lengths() draws, unshuffled, with the subset and the group of each.
///
/// Throws what draw_lengths() throws, and ScenarioError for groups that a source cannot have.
DrawnSubsets draw_subsets(const LengthSpec& spec, std::uint32_t seed);

}  // namespace packsim
