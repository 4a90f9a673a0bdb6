#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiment/results/report.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// What every normaliser does to a schedule's loss; none where nothing is trained. loss_tokens: [n_items], or
/// empty for all tokens but the first of each.
std::vector<LossBiasResult> loss_biases(const Packing& packing, const Schedule& schedule,
                                        std::span<const std::int32_t> loss_tokens);

}  // namespace packsim
