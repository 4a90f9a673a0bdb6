#include "validation/validation_sets.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <vector>

using namespace packsim;

TEST_CASE("The rank correlation is 1 for the same order, -1 for the opposite one, whatever the values") {
  const std::vector<double> a = {1, 5, 2, 100};
  CHECK(*rank_correlation(a, std::vector<double>{0.1, 0.3, 0.2, 0.4}) == Approx(1));
  CHECK(*rank_correlation(a, std::vector<double>{9, 2, 3, -7}) == Approx(-1));
}

TEST_CASE("Equal values share the mean of their ranks") {
  // Ranks 0, 1.5, 1.5, 3 and 0, 1, 2, 3: covariance 4.5 / 4, variances 4.5 / 4 and 5 / 4.
  CHECK(*rank_correlation(std::vector<double>{1, 2, 2, 3}, std::vector<double>{1, 2, 3, 4}) ==
        Approx(4.5 / std::sqrt(4.5 * 5)));
}

TEST_CASE("Without two different values there is no order to compare") {
  CHECK_FALSE(rank_correlation(std::vector<double>{1, 1, 1}, std::vector<double>{1, 2, 3}));
  CHECK_FALSE(rank_correlation({}, {}));
  CHECK_THROWS_AS(rank_correlation(std::vector<double>{1}, {}), std::invalid_argument);
}
