#pragma once

#include "packing/pack.hpp"

namespace packsim {

/// Throws std::invalid_argument where samples cannot be packed in the request's groups: for strategies that
/// cut samples or form iterations, for policies that cut, and, unless over-long groups are dropped, for
/// groups longer than the longest pack. The rest of the request is checked already.
void check_groups(const Strategy& strategy, const PackRequest& request);

/// Packs each group of samples (PackRequest::group_of) as if it were one sample of their length. The request
/// is checked already.
Packing pack_together(const Strategy& strategy, const PackRequest& request);

}  // namespace packsim
