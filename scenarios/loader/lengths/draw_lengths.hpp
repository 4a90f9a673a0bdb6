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

}  // namespace packsim
