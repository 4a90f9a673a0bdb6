#include "sim/engine/sim_time.hpp"

#include <cmath>
#include <string>

namespace packsim {

SimTime sim_time(double seconds) {
  constexpr double limit_ns = 0x1p63;  // the first value that 64 bits do not hold
  const double ns = std::round(seconds * 1e9);
  // Written so that a NaN fails it.
  if (!(seconds >= 0 && ns < limit_ns)) {
    throw std::logic_error("a duration of " + std::to_string(seconds) + " s: expected 0 s to 292 years");
  }
  return {static_cast<std::int64_t>(ns)};
}

}  // namespace packsim
