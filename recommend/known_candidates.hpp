#pragma once

#include <string>
#include <vector>

#include "recommend/candidate.hpp"

namespace packsim {

/// The candidates of a recommendation.json that an earlier call wrote, with the hashes of their jobs. Their
/// offers are not known. Throws ScenarioError with all mistakes, and FileError where the file cannot be read.
std::vector<Candidate> known_candidates(const std::string& path);

}  // namespace packsim
