#pragma once

#include <optional>
#include <string>
#include <vector>

#include "recommend/recommend.hpp"

namespace packsim {

/// The recommended strategy on the recommended cluster where one thing is otherwise.
struct ChangedCase {
  std::string what;                   ///< "x 0.5"
  std::vector<std::string> settings;  ///< that make it; empty where nothing is simulated
  std::optional<CandidateTimes> times;
  std::string reason;  ///< why there are no times; empty if there are
};

/// What one thing that may turn out otherwise does to the answer.
struct Sensitivity {
  std::string what;  ///< "network cards"
  ChangedCase less;
  ChangedCase more;
};

/// Returns what changes the GPU-days of the recommended run, the largest effect first: half and twice the
/// rates of the links, 20 % less and more memory, half and twice the samples of the source with the longest
/// ones, and the ends of the interval of the times. Each case is planned anew. Empty if nothing is
/// recommended.
std::vector<Sensitivity> sensitivity_of(const std::function<Scenario(const std::vector<std::string>&)>& load,
                                        const Recommendation& recommendation,
                                        const RecommendOptions& options = {});

}  // namespace packsim
