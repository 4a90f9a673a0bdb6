#include <catch2/catch.hpp>
#include <limits>

#include "models/step/step_price.hpp"

using namespace packsim;

TEST_CASE("times are rounded to nanoseconds, and those that 64 bits could not add up are refused") {
  CHECK(nanoseconds(1.4e-9) == 1);
  CHECK(nanoseconds(1e7) == 10'000'000'000'000'000);
  CHECK_THROWS_WITH(
      nanoseconds(1e17),
      "expected parts of a step of at most 10000000 s, got one of 1e+17 s: a rate of the cluster, "
      "a size of the model or a factor of the profile is far off");
  CHECK_THROWS_AS(nanoseconds(std::numeric_limits<double>::infinity()), std::invalid_argument);
  CHECK_THROWS_AS(nanoseconds(std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
}
