#pragma once

#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/results/mixture_result.hpp"

namespace packsim {

/// What a mixture has drawn, and what that rests on.
MixtureSummary summarize_mixture(const Scenario& scenario, const MixedDraws& draws);

}  // namespace packsim
