#include "models/step/step_price.hpp"

#include <sstream>
#include <stdexcept>

namespace packsim {

std::int64_t nanoseconds(double time_s) {
  constexpr double kLongest_s = 1e7;
  if (time_s <= kLongest_s) return std::llround(time_s * 1e9);  // false for a NaN
  std::ostringstream got;
  got << time_s;
  throw std::invalid_argument(
      "expected parts of a step of at most 10000000 s, got one of " + got.str() +
      " s: a rate of the cluster, a size of the model or a factor of the profile is far off");
}

std::int64_t MicroBatchPrice::added_ns(const LayerForm& form, LayerPhase behind) const {
  std::int64_t total_ns = 0;
  for (const AddedSegment& segment : added)
    if (segment.behind == behind && segment.is_of(form)) total_ns += segment.segment.time_ns;
  return total_ns;
}

}  // namespace packsim
