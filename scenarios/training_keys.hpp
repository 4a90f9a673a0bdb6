#pragma once

#include "packing/options/limits.hpp"
#include "packing/options/option.hpp"

namespace packsim {

// What "training" of a scenario has, beside the ZeRO stage of its plan (plan_keys()).

/// Every scenario gives it.
inline constexpr IntegerOption kTokensPerIterationKey = integer_option(
    "tokens_per_iteration", {.default_value = 0, .least = 1, .most = kMostTokensPerIteration},
    "Tokens of one optimizer step over all GPUs. Each rank trains as many micro-batches as fit "
    "into its share, and at least one.");

inline constexpr IntegerOption kEpochsKey = integer_option(
    "epochs", {.default_value = 1, .least = 1, .most = 10'000},
    "Passes through the data. Data are packed once, and packs are shuffled anew for each epoch.");

}  // namespace packsim
