#include "experiment/results/iteration_bins.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

using namespace packsim;

TEST_CASE("bins cover every iteration once, in order") {
  for (const std::size_t n : {0, 1, 7, 400, 401, 1000}) {
    const auto bins = bin_iterations(std::vector<double>(n, 2.0), 400);
    CHECK(bins.size() == std::min<std::size_t>(n, 400));
    std::int64_t next = 0;
    for (const IterationBin& bin : bins) {
      CHECK(bin.first_iteration == next);
      CHECK(bin.last_iteration >= bin.first_iteration);
      next = bin.last_iteration + 1;
    }
    CHECK(next == static_cast<std::int64_t>(n));
  }
}

TEST_CASE("a bin keeps the fastest, the mean and the slowest step") {
  const std::vector<double> step_s = {1, 2, 9, 5, 5, 5};
  const auto bins = bin_iterations(step_s, 2);
  REQUIRE(bins.size() == 2);
  CHECK(bins[0].least == 1);
  CHECK(bins[0].mean == 4);
  CHECK(bins[0].most == 9);
  CHECK(bins[1].mean == 5);
}

TEST_CASE("no bins at all are refused") {
  CHECK_THROWS_AS(bin_iterations(std::vector<double>{1.0}, 0), std::invalid_argument);
}
