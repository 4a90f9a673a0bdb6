#pragma once

#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/results/mixture_result.hpp"

namespace packsim {

/// The draws of a mixture, and what they rest on.
MixtureSummary summarize_mixture(const Scenario& scenario, const MixedDraws& draws);

}  // namespace packsim
