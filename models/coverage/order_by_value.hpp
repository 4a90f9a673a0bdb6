#pragma once

#include <vector>

#include "models/coverage/measurement_list.hpp"

namespace packsim {

/// Orders the cases so that a run that ends early has covered every kernel thinly: by level, and in a level
/// by round: one end of every curve (the sizes of a kernel whose other keys are the same), then the other
/// ends, the middles, and the middles of what is between. In a round kernels stay in the order in which they
/// come, the most important first. Sets the rounds.
void order_by_value(std::vector<ListedCase>& cases);

}  // namespace packsim
