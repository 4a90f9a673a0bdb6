#include "validation/interval_score.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace packsim;

namespace {

// A row whose published value is e^distance times the predicted one.
ValidationRow row(double distance, double half_width) {
  ValidationRow made;
  made.published = 10 * std::exp(distance);
  made.predicted = 10;
  made.interval = Interval{10 * std::exp(-half_width), 10 * std::exp(half_width)};
  return made;
}

}  // namespace

TEST_CASE("An interval scores its width, and 20 times what a value is outside it") {
  CHECK(interval_score(0.1, 0.05) == Approx(0.2));
  CHECK(interval_score(0.1, 0.13) == Approx(0.2 + 20 * 0.03));
  // (0.2 + 0.2 + 20 x 0.1) / 2; a row without an interval does not count.
  ValidationRow without = row(5, 1);
  without.interval.reset();
  CHECK(mean_interval_score({row(0.05, 0.1), row(-0.2, 0.1), without}) == Approx(1.2));
  CHECK(mean_interval_score({}) == 0);
}

TEST_CASE("The best constant interval leaves out a tenth of the values") {
  std::vector<ValidationRow> rows;
  for (int i = 1; i <= 20; ++i) rows.push_back(row(0.01 * i * (i % 2 == 0 ? 1 : -1), 1));
  // All at 0.18: two of twenty are outside, by 0.01 and 0.02.
  const double best = best_constant_score(rows);
  CHECK(best == Approx(2 * 0.18 + 20 * 0.03 / 20));
  for (double width = 0.01; width < 0.3; width += 0.001) {
    double sum = 0;
    for (int i = 1; i <= 20; ++i) sum += interval_score(width, 0.01 * i);
    CHECK(sum / 20 >= best - 1e-12);
  }
  CHECK(best_constant_score({}) == 0);
}
