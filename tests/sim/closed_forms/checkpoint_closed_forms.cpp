#include "tests/sim/closed_forms/checkpoint_closed_forms.hpp"

#include <cmath>

namespace packsim {

double young_interval_s(double write_s, double mtbf_s) {
  return std::sqrt(2 * write_s * mtbf_s);
}

double daly_interval_s(double write_s, double mtbf_s) {
  const double x = write_s / (2 * mtbf_s);
  if (!(x < 1)) return mtbf_s;
  return young_interval_s(write_s, mtbf_s) * (1 + std::sqrt(x) / 3 + x / 9) - write_s;
}

}  // namespace packsim
