#include "sim/engine/sim_time.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace packsim {
namespace {

TEST_CASE("seconds become the nearest nanosecond") {
  CHECK(sim_time(0).ns == 0);
  CHECK(sim_time(-0.0).ns == 0);
  CHECK(sim_time(1.4e-9).ns == 1);
  CHECK(sim_time(1.6e-9).ns == 2);
  CHECK(sim_time(0.25).ns == 250'000'000);
  // 0.1 is a little more than a tenth; a truncated 0.3 s would come to 299 999 999 ns.
  CHECK(sim_time(0.1 + 0.2).ns == 300'000'000);
  CHECK(sim_time(0.3).ns == 300'000'000);
}

TEST_CASE("a run of days converts to seconds and back without loss") {
  // 100 days are 8.64e15 ns, under the 2^53 = 9.007e15 up to which doubles hold every integer.
  for (const std::int64_t ns :
       {std::int64_t{1}, std::int64_t{999'999'999}, std::int64_t{8'640'000'000'000'000}}) {
    CHECK(sim_time(to_seconds({ns})).ns == ns);
  }
}

TEST_CASE("a duration that no cost model should make is refused") {
  CHECK_THROWS_AS(sim_time(-1e-9), std::logic_error);
  CHECK_THROWS_AS(sim_time(std::numeric_limits<double>::quiet_NaN()), std::logic_error);
  CHECK_THROWS_AS(sim_time(std::numeric_limits<double>::infinity()), std::logic_error);
  CHECK_THROWS_WITH(sim_time(-1), Catch::Contains("-1.0"));
}

TEST_CASE("time ends after 2^63 ns and says so") {
  // 2^63 ns are 9 223 372 036.85 s.
  CHECK(sim_time(9'223'372'036).ns == 9'223'372'036'000'000'000);
  CHECK_THROWS_AS(sim_time(9'223'372'037), std::logic_error);
  const SimTime last{std::numeric_limits<std::int64_t>::max()};
  CHECK((last + SimTime{0}) == last);
  CHECK_THROWS_AS((last + SimTime{1}), std::logic_error);
}

}  // namespace
}  // namespace packsim
