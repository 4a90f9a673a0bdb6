#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/step_pricer.hpp"

namespace packsim {

/// The shares of chunks of a pipeline, as PassShares has them, without the framework's cost of a micro-batch:
/// the least over packs of all sizes, and attention, with any number of checkpointed layers. Between the
/// token counts that are priced exactly, and between the numbers of checkpointed layers that are looked at,
/// times are linear, so that shares lie between those at both ends.
///
/// pricers: of one plan at several sequence degrees; the first is left with another number of checkpointed
/// layers. most_tokens: [n_pricers] of a pack, on each GPU. stage: the reference.
std::vector<double> chunk_shares(std::span<StepPricer* const> pricers,
                                 std::span<const std::int64_t> most_tokens, int stage);

}  // namespace packsim
