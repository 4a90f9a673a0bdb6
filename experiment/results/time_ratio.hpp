#pragma once

#include "experiment/results/strategy_result.hpp"

namespace packsim {

/// GPU-days of run `a` over those of run `b`. Both have times. What errs in both alike makes the interval no
/// wider (ratio_error()); that of a run over itself is 1 to 1. No
/// interval where the errors of a run are not known.
TimeRatio gpu_day_ratio(const StrategyResult& a, const StrategyResult& b);

}  // namespace packsim
