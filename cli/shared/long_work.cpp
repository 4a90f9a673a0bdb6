#include "cli/shared/long_work.hpp"

#include <cmath>

#include "cli/shared/print.hpp"

namespace packsim {

void announce_long_work(double work_s) {
  constexpr double kLong_s = 60;
  if (work_s < kLong_s) return;
  print_error("This may take about {:.0f} minute{}; Ctrl-C ends it.\n", std::ceil(work_s / 60),
              work_s <= 60 ? "" : "s");
}

}  // namespace packsim
