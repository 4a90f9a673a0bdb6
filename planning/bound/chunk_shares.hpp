#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/step_pricer.hpp"

namespace packsim {

/// PassShares::chunks without the framework's cost of a micro-batch: the least over packs of all sizes, and
/// over attention, with any number of checkpointed layers. Times are linear between the token counts that are
/// priced exactly, and between the numbers of checkpointed layers that are tried. So shares in between lie
/// between those at both ends.
///
/// pricers: of one plan at several sequence degrees; the first gets another number of checkpointed layers.
/// most_tokens: [n_pricers], the most tokens of a pack on each GPU. stage: the reference stage.
std::vector<double> chunk_shares(std::span<StepPricer* const> pricers,
                                 std::span<const std::int64_t> most_tokens, int stage);

}  // namespace packsim
