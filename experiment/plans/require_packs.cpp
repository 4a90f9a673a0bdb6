#include "experiment/plans/require_packs.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace packsim {

void require_packs(const Packing& packing) {
  if (packing.n_packs() > 0) return;
  const PackCounts& counts = packing.counts;
  throw std::invalid_argument(fmt::format(
      "expected samples to train, got none: of {} samples {} are over-long and left out, {} are empty",
      counts.n_samples, counts.dropped_samples, counts.empty_samples));
}

}  // namespace packsim
