#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiment/results/report.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// The effect of every loss normaliser on a schedule (docs/metrics.md); empty if nothing is trained.
/// loss_tokens: [n_items], the number of loss tokens of each item; if empty, every token of an item except
/// the first has loss.
std::vector<LossBiasResult> loss_biases(const Packing& packing, const Schedule& schedule,
                                        std::span<const std::int32_t> loss_tokens);

}  // namespace packsim
