#include "reports/text/numbers.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace packsim::formats_detail;

TEST_CASE("nothing is 0, and something is never rounded to 0") {
  CHECK(token_count(0) == "0");
  CHECK(token_count(1) == "1");
  CHECK(ratio(0) == "0");
  CHECK(ratio(0.0001) == "<0.001");
  CHECK(percent(0) == "0%");
  CHECK(percent(0.0001) == "<0.1%");
  CHECK(quantity(0) == "0");
  CHECK(quantity(0.00001) == "1.0e-05");
}

TEST_CASE("counts of tokens keep three digits and take the next unit in time") {
  CHECK(token_count(999) == "999");
  CHECK(token_count(1'000) == "1.00k");
  CHECK(token_count(12'345) == "12.3k");
  CHECK(token_count(999'499) == "999k");
  CHECK(token_count(999'500) == "1.00M");
  CHECK(token_count(1'240'000'000) == "1.24B");
}

TEST_CASE("capacities are in units of 1024 where they are multiples of it") {
  CHECK(capacity(131072) == "128K");
  CHECK(capacity(1000) == "1,000");
  CHECK(capacity(512) == "512");
}

TEST_CASE("quantities show three digits, without exponents where people would not use them") {
  CHECK(quantity(0.0531) == "0.0531");
  CHECK(quantity(0.41) == "0.410");
  CHECK(quantity(9.996) == "10.0");
  CHECK(quantity(99.96) == "100");
  CHECK(quantity(1234.5) == "1,235");
  CHECK(quantity(std::numeric_limits<double>::quiet_NaN()) == "-");
}

TEST_CASE("thousands are grouped") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1'000) == "1,000");
  CHECK(grouped(-1'234'567) == "-1,234,567");
  CHECK(grouped(-123) == "-123");
}
