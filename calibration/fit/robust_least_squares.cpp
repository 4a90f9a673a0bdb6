#include "calibration/fit/robust_least_squares.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/fit/dense_algebra.hpp"

namespace packsim {
namespace {

constexpr double kHuber = 1.345;
constexpr double kTukey = 4.685;

double huber_weight(double u) {
  return std::abs(u) <= kHuber ? 1 : kHuber / std::abs(u);
}

double tukey_weight(double u) {
  if (std::abs(u) >= kTukey) return 0;
  const double inside = 1 - u * u / (kTukey * kTukey);
  return inside * inside;
}

// Derivative of weight(u) u, for the covariance.
double tukey_slope(double u) {
  if (std::abs(u) >= kTukey) return 0;
  const double square = u * u / (kTukey * kTukey);
  return (1 - square) * (1 - 5 * square);
}

Eigen::MatrixXd jacobian_of(const Residuals& residuals, const Eigen::VectorXd& x) {
  Eigen::MatrixXd jacobian;
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    const double step = 1e-5 * std::max(1.0, std::abs(x[k]) * 1e-2);
    Eigen::VectorXd up = x;
    Eigen::VectorXd down = x;
    up[k] += step;
    down[k] -= step;
    const Eigen::VectorXd column = (residuals(up) - residuals(down)) / (2 * step);
    if (jacobian.size() == 0) jacobian.resize(column.size(), x.size());
    jacobian.col(k) = column;
  }
  return jacobian;
}

// One fit with fixed scale and moving weights.
class Search {
 public:
  Search(const Residuals& residuals, const RobustOptions& options, Eigen::VectorXd x)
      : residuals_(residuals), options_(options), x_(std::move(x)), r_(residuals_(x_)) {}

  Eigen::Index n_data() const { return r_.size() - options_.n_priors; }
  Eigen::VectorXd data_residuals() const { return r_.head(n_data()); }
  const Eigen::VectorXd& x() const { return x_; }
  const Eigen::VectorXd& residuals() const { return r_; }

  Eigen::VectorXd weights(double scale, double (*weight)(double)) const {
    Eigen::VectorXd w(n_data());
    for (Eigen::Index i = 0; i < n_data(); ++i) w[i] = weight(r_[i] / scale);
    return w;
  }

  // Levenberg-Marquardt steps on weighted squares, the weights renewed at each accepted step, until the steps
  // have become small.
  void run(double scale, double (*weight)(double), int most_iterations) {
    double damping = 1e-3;
    for (int iteration = 0; iteration < most_iterations; ++iteration) {
      const Eigen::VectorXd w = all_weights(scale, weight);
      const Eigen::MatrixXd jacobian = jacobian_of(residuals_, x_);
      const Eigen::MatrixXd normal = weighted_normal(jacobian, w);
      const Eigen::VectorXd gradient = transposed_product(jacobian, w.cwiseProduct(r_));
      bool moved = false;
      while (!moved && damping < 1e12) {
        Eigen::MatrixXd damped = normal;
        damped.diagonal() += damping * normal.diagonal().cwiseMax(1e-12 * normal.diagonal().maxCoeff());
        Eigen::VectorXd step = solve_symmetric(damped, -gradient);
        // Logarithms of numbers: more than e^2 at once is a leap in the dark.
        if (step.cwiseAbs().maxCoeff() > 2) step *= 2 / step.cwiseAbs().maxCoeff();
        const Eigen::VectorXd tried = residuals_(x_ + step);
        if (step.allFinite() && tried.allFinite() &&
            w.dot(tried.cwiseAbs2()) <= w.dot(r_.cwiseAbs2()) * (1 + 1e-14)) {
          x_ += step;
          r_ = tried;
          damping = std::max(damping / 8, 1e-12);
          moved = true;
          if (step.cwiseAbs().maxCoeff() < 1e-7) return;
        } else {
          damping *= 10;
        }
      }
      if (!moved) return;  // no step goes down any more
    }
  }

  // Weights of the data over their variance, and of the priors, whose unit is their deviation.
  Eigen::VectorXd all_weights(double scale, double (*weight)(double)) const {
    Eigen::VectorXd w = Eigen::VectorXd::Ones(r_.size());
    w.head(n_data()) = weights(scale, weight) / (scale * scale);
    return w;
  }

 private:
  const Residuals& residuals_;
  const RobustOptions& options_;
  Eigen::VectorXd x_;
  Eigen::VectorXd r_;
};

// The scale at which the squares of Tukey's psi are what they are for normal residuals: of those that have
// weight (Huber's proposal 2).
double tukey_scale(const Search& search, double scale) {
  constexpr double kPsiSquare = 0.6045;  // mean over a normal distribution
  double sum = 0;
  double n = 0;
  for (Eigen::Index i = 0; i < search.n_data(); ++i) {
    const double u = search.residuals()[i] / scale;
    if (std::abs(u) >= kTukey) continue;
    sum += tukey_weight(u) * u * tukey_weight(u) * u;
    n += 1;
  }
  const double freedom = std::max(1.0, n - static_cast<double>(search.x().size()));
  return scale * std::sqrt(std::min(4.0, sum / freedom / kPsiSquare));
}

Eigen::MatrixXd covariance_of(const Search& search, const Residuals& residuals, double scale) {
  const Eigen::MatrixXd jacobian = jacobian_of(residuals, search.x());
  const auto p = static_cast<double>(search.x().size());
  double n = 0;
  double psi_squares = 0;
  double slopes = 0;
  Eigen::VectorXd w = Eigen::VectorXd::Ones(search.residuals().size());
  for (Eigen::Index i = 0; i < search.n_data(); ++i) {
    const double u = search.residuals()[i] / scale;
    // What has no weight tells nothing, be it where it may.
    w[i] = tukey_weight(u) > 0.05 ? 1 : 0;
    if (w[i] == 0) continue;
    n += 1;
    psi_squares += tukey_weight(u) * u * tukey_weight(u) * u;
    slopes += tukey_slope(u);
  }
  const double slope = std::max(0.1, slopes / std::max(1.0, n));
  const double variance = std::max(1e-12, psi_squares / std::max(1.0, n - p) / (slope * slope));
  // The scale is an estimate too: Student's two standard errors in terms of normal ones, to second order.
  const double freedom = std::max(1.0, n - p);
  const double student = 1 + 1.25 / freedom + 1.53 / (freedom * freedom);
  w.head(search.n_data()) /= scale * scale * variance * student * student;
  const Eigen::MatrixXd normal = weighted_normal(jacobian, w);
  // Directions that the data do not see would be infinite: they become very large.
  Eigen::MatrixXd seen = normal;
  seen.diagonal().array() += 1e-12 * normal.diagonal().maxCoeff();
  return inverse_symmetric(seen);
}

}  // namespace

double robust_scale(const Eigen::VectorXd& values, Eigen::Index n_parameters) {
  if (values.size() == 0) return 0;
  std::vector<double> sizes(static_cast<std::size_t>(values.size()));
  for (Eigen::Index i = 0; i < values.size(); ++i) sizes[static_cast<std::size_t>(i)] = std::abs(values[i]);
  std::ranges::sort(sizes);
  // Two thirds of a normal distribution are within 0.967 standard deviations, four fifths within 1.282. A fit
  // brings as many residuals as it has numbers to nearly 0; those tell nothing. Of few rows even two thirds
  // may be small by chance, and few outliers are to be expected.
  constexpr double kFew = 20;
  const auto n = static_cast<double>(values.size());
  const double free = std::max(1.0, n - static_cast<double>(n_parameters));
  const bool few = free < kFew;
  const auto rank = static_cast<std::size_t>(std::ceil(n - free / (few ? 5 : 3)));
  return sizes[std::clamp<std::size_t>(rank, 1, sizes.size()) - 1] / (few ? 1.282 : 0.967);
}

RobustFit robust_least_squares(const Residuals& unweighted, const Eigen::VectorXd& start,
                               const RobustOptions& options) {
  const Eigen::Index n_trust = options.trust.size();
  const Residuals residuals = n_trust == 0 ? unweighted : [&](const Eigen::VectorXd& x) {
    Eigen::VectorXd r = unweighted(x);
    r.head(n_trust).array() *= options.trust.array();
    return r;
  };
  Search search(residuals, options, start);
  const auto scale_now = [&] {
    const double scale =
        options.scale > 0 ? options.scale : robust_scale(search.data_residuals(), search.x().size());
    return std::max(scale, options.least_scale);
  };
  // Huber's sum has one minimum and brings the residuals near enough for Tukey's, which forgets what is far.
  double scale = scale_now();
  for (int round = 0; round < 5; ++round) {
    search.run(scale, huber_weight, options.most_iterations / 5);
    const double before = scale;
    scale = scale_now();
    if (std::abs(scale / before - 1) < 1e-3) break;
  }
  for (int round = 0; round < 8; ++round) {
    search.run(scale, tukey_weight, options.most_iterations / 5);
    const double before = scale;
    // The median told the outliers; the others tell the scale better than their median.
    if (options.scale == 0) scale = std::max(options.least_scale, tukey_scale(search, scale));
    if (std::abs(scale / before - 1) < 1e-3) break;
  }
  RobustFit fit;
  fit.x = search.x();
  fit.residuals = search.residuals();
  fit.residuals.head(n_trust).array() /= options.trust.array();
  fit.weights = search.weights(scale, tukey_weight);
  fit.scale = scale;
  fit.covariance = covariance_of(search, residuals, scale);
  return fit;
}

PositiveFit fit_positive(const RowTime& time_s, const std::vector<double>& measured_s,
                         const std::vector<double>& start, const Eigen::VectorXd& trust,
                         const std::vector<double>& known) {
  constexpr double kNeeded = 1e-4;
  const auto n_rows = static_cast<Eigen::Index>(measured_s.size());
  const Eigen::VectorXd measured_log = Eigen::VectorXd::Map(measured_s.data(), n_rows).array().log();
  const auto times_s = [&](const std::vector<double>& numbers) {
    Eigen::VectorXd times(n_rows);
    for (Eigen::Index i = 0; i < n_rows; ++i) times[i] = time_s(numbers, static_cast<std::size_t>(i));
    return times;
  };
  std::vector<std::size_t> active;
  for (std::size_t k = 0; k < start.size(); ++k) {
    if (start[k] > 0) active.push_back(k);
  }
  std::vector<double> values = start;
  RobustFit fit;
  const auto with = [&](const Eigen::VectorXd& x) {
    std::vector<double> numbers(start.size(), 0.0);
    for (std::size_t i = 0; i < active.size(); ++i)
      numbers[active[i]] = start[active[i]] * std::exp(x[static_cast<Eigen::Index>(i)]);
    return numbers;
  };
  const auto priors_of = [&](const Eigen::VectorXd& x) {
    std::vector<double> priors;
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (!known.empty() && known[active[i]] > 0)
        priors.push_back(x[static_cast<Eigen::Index>(i)] / known[active[i]]);
    }
    return priors;
  };
  const Residuals residuals = [&](const Eigen::VectorXd& x) {
    const std::vector<double> priors = priors_of(x);
    const auto n_priors = static_cast<Eigen::Index>(priors.size());
    Eigen::VectorXd all(n_rows + n_priors);
    all.head(n_rows) = times_s(with(x)).array().log().matrix() - measured_log;
    all.tail(n_priors) = Eigen::VectorXd::Map(priors.data(), n_priors);
    return all;
  };
  Eigen::VectorXd x = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(active.size()));
  while (true) {
    fit = robust_least_squares(residuals, x,
                               {.n_priors = static_cast<Eigen::Index>(priors_of(x).size()), .trust = trust});
    values = with(fit.x);
    // What no row needs goes, the least needed first, and the rest is fitted again.
    const Eigen::VectorXd full_s = times_s(values);
    std::size_t least = 0;
    double least_share = kNeeded;
    for (std::size_t i = 0; i < active.size() && active.size() > 1; ++i) {
      std::vector<double> without = values;
      without[active[i]] = 0;
      const double share = (1 - times_s(without).array() / full_s.array()).abs().maxCoeff();
      if (share < least_share) {
        least = i + 1;
        least_share = share;
      }
    }
    if (least == 0) break;
    active.erase(active.begin() + static_cast<std::ptrdiff_t>(least - 1));
    x.resize(static_cast<Eigen::Index>(active.size()));
    for (std::size_t i = 0; i < active.size(); ++i)
      x[static_cast<Eigen::Index>(i)] = std::log(values[active[i]] / start[active[i]]);
  }
  const auto n_numbers = static_cast<Eigen::Index>(start.size());
  PositiveFit result{.values = values,
                     .standard_errors = std::vector<double>(start.size(), 0.0),
                     .log_covariance = Eigen::MatrixXd::Zero(n_numbers, n_numbers),
                     .residuals = fit.residuals.head(n_rows),
                     .weights = fit.weights,
                     .scale = fit.scale};
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    result.standard_errors[active[i]] = values[active[i]] * std::sqrt(std::max(0.0, fit.covariance(at, at)));
    for (std::size_t j = 0; j < active.size(); ++j) {
      result.log_covariance(static_cast<Eigen::Index>(active[i]), static_cast<Eigen::Index>(active[j])) =
          fit.covariance(at, static_cast<Eigen::Index>(j));
    }
  }
  return result;
}

}  // namespace packsim
