#pragma once

#include "packing/batch_problem.hpp"
#include "packing/pack.hpp"

namespace packsim {

/// Seconds of the iterations that a strategy has formed, by the prices of the setting's groups: every pack
/// starts when its GPUs are free or, where rounds_in_step, when all packs of earlier rounds have ended. It
/// leaves out what a step takes beside its packs, except the filling of a pipeline. packing: made by a
/// strategy with plan_batches, in the setting.
double planned_time_s(const Packing& packing, const BatchSetting& setting);

}  // namespace packsim
