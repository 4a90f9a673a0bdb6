#include "calibration/fit/robust_least_squares.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "calibration/fit/curves/fit_rows.hpp"
#include "tests/calibration/synthetic.hpp"

using namespace packsim;

TEST_CASE("A line through points with outliers is found within its standard errors, as often as those say") {
  Hits slope;
  Hits offset;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Synthetic random(seed);
    Eigen::VectorXd x(60);
    Eigen::VectorXd y(60);
    for (Eigen::Index i = 0; i < 60; ++i) {
      x[i] = random.uniform();
      y[i] = 3 + 2 * x[i] + 0.1 * random.normal();
      if (random.uniform() < 0.05) y[i] += 5;
    }
    const RobustFit fit = robust_least_squares(
        [&](const Eigen::VectorXd& p) { return Eigen::VectorXd((p[0] + p[1] * x.array()).matrix() - y); },
        Eigen::VectorXd::Zero(2));
    offset.add(fit.x[0], std::sqrt(fit.covariance(0, 0)), 3);
    slope.add(fit.x[1], std::sqrt(fit.covariance(1, 1)), 2);
  }
  // A normal estimate is within two standard errors 95.4 times in a hundred, 191 +- 3 in 200.
  CAPTURE(offset.within_2, offset.within_3, slope.within_2, slope.within_3);
  CHECK(offset.within_2 >= 185);
  CHECK(slope.within_2 >= 185);
  CHECK(offset.within_3 >= 197);
  CHECK(slope.within_3 >= 197);
}

TEST_CASE("Least squares without outliers has least squares' standard errors") {
  Synthetic random(1);
  Eigen::VectorXd y(1000);
  for (Eigen::Index i = 0; i < 1000; ++i) y[i] = random.normal();
  const RobustFit fit = robust_least_squares(
      [&](const Eigen::VectorXd& p) { return Eigen::VectorXd((p[0] - y.array()).matrix()); },
      Eigen::VectorXd::Constant(1, 10));
  // The mean of 1 000 has a standard error of 1 / sqrt(1000) = 0.0316; Tukey's estimate 1 / sqrt(0.95) of it.
  CHECK(std::sqrt(fit.covariance(0, 0)) == Approx(0.0316 / std::sqrt(0.95)).epsilon(0.08));
}

TEST_CASE("A number that the times do not need becomes 0") {
  // time = 2 x, modelled as a + b x + c x^2.
  std::vector<double> measured_s;
  for (int x = 1; x <= 20; ++x) measured_s.push_back(2 * x);
  const PositiveFit fit = fit_positive(
      [](const std::vector<double>& p, std::size_t row) {
        const auto x = static_cast<double>(row + 1);
        return p[0] + p[1] * x + p[2] * x * x;
      },
      measured_s, {1, 1, 1});
  CHECK(fit.values[0] == Approx(0).margin(1e-3));
  CHECK(fit.values[1] == Approx(2).epsilon(1e-3));
  CHECK(fit.values[2] == Approx(0).margin(1e-5));
}

TEST_CASE("What the rows do not tell is as it was known before") {
  // time = a x for x up to 10, measured to 2 %; nothing is known of a. b, within a third of 3, is 0.0015 of
  // the first time and less of the others.
  Synthetic random(5);
  std::vector<double> measured_s;
  for (int x = 1; x <= 10; ++x) measured_s.push_back(2 * x * std::exp(0.02 * random.normal()));
  const auto time_s = [](const std::vector<double>& p, std::size_t row) {
    return p[0] * static_cast<double>(row + 1) + 1e-3 * p[1];
  };
  const PositiveFit fit = fit_positive(time_s, measured_s, {1, 3}, {}, {0, 1.0 / 3});
  CHECK(fit.values[0] == Approx(2).epsilon(0.02));
  CHECK(fit.values[1] == Approx(3).epsilon(0.02));
  CHECK(fit.log_covariance(1, 1) == Approx(1.0 / 9).epsilon(0.1));
  CHECK(fit.residuals.size() == 10);
}

TEST_CASE("Isotonic regression pools what falls, by weight") {
  CHECK(never_falling({1, 3, 2, 4}, {1, 1, 1, 1}) == std::vector<double>{1, 2.5, 2.5, 4});
  CHECK(never_falling({1, 3, 2, 4}, {1, 3, 1, 1}) == std::vector<double>{1, 2.75, 2.75, 4});
  CHECK(never_falling({3, 2, 1}, {1, 1, 1}) == std::vector<double>{2, 2, 2});
  CHECK(never_falling({}, {}).empty());
}
