#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "packing/pack_set.hpp"

namespace packsim {

/// Divides packs in two until their number is a multiple of `multiple`, or none has several samples: each
/// time the one with the most work, of equal ones the last. Its samples go, the most work first, to the half
/// with less; one half stays in its place, and the other goes to the end.
void split_to_multiple(std::vector<std::vector<ItemIndex>>& packs, std::size_t multiple,
                       const std::function<std::int64_t(ItemIndex)>& work_of);

}  // namespace packsim
