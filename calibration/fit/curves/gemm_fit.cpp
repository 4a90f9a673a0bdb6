#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "calibration/fit/curves/curve_fit.hpp"
#include "calibration/fit/curves/family_fits.hpp"
#include "calibration/fit/robust_least_squares.hpp"
#include "models/kernels/kernel_times.hpp"

namespace packsim {
namespace {

struct Shape {
  double m = 0;
  double n = 0;
  double k = 0;
};

Shape shape_of(const FitRow& row) {
  const auto size = [&](std::string_view key) { return static_cast<double>(row.row->kernel.integer(key)); };
  return {size("m"), size("n"), size("k")};
}

GemmNumbers gemm_of(const std::vector<double>& numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

PositiveFit fit_numbers(const FitRows& rows, const std::vector<double>& start) {
  std::vector<Shape> shapes;
  for (const FitRow* row : rows) shapes.push_back(shape_of(*row));
  const auto time_s = [&](const std::vector<double>& numbers, std::size_t i) {
    return gemm_model_s(gemm_of(numbers), shapes[i].m, shapes[i].n, shapes[i].k);
  };
  return fit_times_of(rows, time_s, start);
}

// Several sizes or shapes are left out of the model at once if there are more to leave out than this.
constexpr std::size_t kMostFits = 24;

// Launch of a few microseconds, a rate and a bandwidth of a GPU of our days: any that is a thousand times
// faster or slower is found from there as well.
const std::vector<double> kStart = {4e-6, 1 / 5e14, 1e-14, 1 / 3e12};

std::vector<FittedNumber> model_numbers(const PositiveFit& fit) {
  std::vector<FittedNumber> times =
      named_numbers({"launch_s", "flop_per_s", "s_per_output", "bytes_per_s"}, fit);
  times[1] = as_rate("flop_per_s", times[1]);
  times[3] = as_rate("bytes_per_s", times[3]);
  return times;
}

// Error an e-fold outside the box: for each side, fitted to the shapes up to a quarter of its largest value
// and tried on those beyond. No fewer than a few dozen shapes can spare them.
double try_outside(const FitRows& rows, const std::vector<KeyRange>& box, const std::vector<double>& start) {
  constexpr double kUntried = 0.1;
  constexpr std::size_t kFewestRows = 12;
  double worst = 0.02;
  bool tried = false;
  for (const KeyRange& side : box) {
    const auto value = [&](const FitRow* row) {
      return static_cast<double>(row->row->kernel.integer(side.key));
    };
    const double limit = side.high / 4;
    FitRows inside;
    FitRows beyond;
    for (FitRow* row : rows) (value(row) <= limit ? inside : beyond).push_back(row);
    if (inside.size() < kFewestRows || beyond.empty()) continue;
    const GemmNumbers numbers = gemm_of(fit_numbers(inside, start).values);
    std::vector<double> squares;
    for (const FitRow* row : beyond) {
      const Shape shape = shape_of(*row);
      const double error = std::log(gemm_model_s(numbers, shape.m, shape.n, shape.k) / row->time_s);
      squares.push_back(std::pow(error / std::log(value(row) / limit), 2));
    }
    // A few small steps over the limit say little of an e-fold: their noise is divided by the step.
    std::ranges::sort(squares);
    squares.resize((squares.size() + 1) / 2);
    worst = std::max(worst, root_mean(squares));
    tried = true;
  }
  return tried ? worst : kUntried;
}

// Rows of one layout and cache, by the curve they lie on.
class GemmFit {
 public:
  GemmFit(std::string key, FitRows rows) : rows_(std::move(rows)), by_curve_(by_curve(rows_)) {
    model_.key = std::move(key);
  }

  void run(HardwareProfile& profile) {
    const PositiveFit fit = fit_numbers(rows_, kStart);
    numbers_ = fit.values;
    model_.library = rows_.front()->row->library;
    model_.numbers = model_numbers(fit);
    for (const char* side : {"m", "n", "k"}) model_.box.push_back(range_of(side, rows_));
    model_.sources = sources_of(rows_);
    set_fitted(rows_, fit.residuals, fit.weights);
    model_.quality = quality_of(rows_);
    FitRows usual;
    std::ranges::copy_if(rows_, std::back_inserter(usual),
                         [](const FitRow* row) { return !is_outlier(*row); });
    model_.end_error = try_outside(usual, model_.box, numbers_);

    add_curves();
    choose_neighbours();
    if (distrust_odd_rows()) {
      add_curves();
      choose_neighbours();
    }
    leave_sizes_out();
    for (KernelCurve& curve : curves_) add_sorted(profile, std::move(curve));
    add_sorted(profile, std::move(model_));
  }

 private:
  // The model along the curve that a row lies on.
  static BaseTime base_of(const std::vector<double>& values, const FitRow& row) {
    const Shape shape = shape_of(row);
    const bool over_k = row.row->kernel.value("layout") == "nt";
    return [=, numbers = gemm_of(values)](double size) {
      return over_k ? gemm_model_s(numbers, shape.m, shape.n, size)
                    : gemm_model_s(numbers, size, shape.n, shape.k);
    };
  }

  void add_curves() {
    curves_.clear();
    points_.clear();
    for (auto& [key, rows] : by_curve_) {
      const std::string size_name = curve_place(rows.front()->row->kernel).size_name;
      PointFit points;
      curves_.push_back(fit_curve(key, size_name, rows, base_of(numbers_, *rows.front()), &points));
      curves_.back().straight = false;
      points_.push_back(std::move(points));
    }
  }

  // A curve of few points cannot tell its outliers; then it is the shapes around it that tell. True where
  // there are any.
  bool distrust_odd_rows() {
    constexpr std::size_t kEnoughPoints = 5;
    const HardwareProfile profile = profile_of_curves();
    const double limit = std::max(0.25, 6 * model_.quality.left_out_rms);
    bool any = false;
    std::vector<std::string> unusable;
    for (auto& [key, rows] : by_curve_) {
      if (rows.size() >= kEnoughPoints) continue;
      std::size_t n_odd = 0;
      for (FitRow* row : rows) {
        const double error = std::log(gemm_shape_s(profile, model_, row->row->kernel) / row->time_s);
        if (std::abs(error) <= limit) continue;
        row->distrusted = true;
        row->weight = 0;
        row->residual = error;
        ++n_odd;
      }
      any = any || n_odd > 0;
      if (n_odd == rows.size()) unusable.push_back(key);
    }
    for (const std::string& key : unusable) by_curve_.erase(key);
    return any;
  }

  HardwareProfile profile_of_curves() const {
    HardwareProfile profile;
    profile.curves = curves_;
    std::ranges::sort(profile.curves, {}, &KernelCurve::key);
    return profile;
  }

  // The curves' left-out errors, each size left out of all curves and of the model at once.
  void leave_sizes_out() {
    std::set<double> sizes;
    for (const FitRow* row : rows_) sizes.insert(row->size);
    const std::vector<double> all_sizes(sizes.begin(), sizes.end());
    const std::size_t n_fits = std::min(kMostFits, all_sizes.size());
    std::vector<std::vector<double>> squares(curves_.size());
    for (std::size_t turn = 0; turn < n_fits && all_sizes.size() > 2; ++turn) {
      std::set<double> left_out;
      for (std::size_t i = turn; i < all_sizes.size(); i += n_fits) left_out.insert(all_sizes[i]);
      FitRows others;
      for (FitRow* row : rows_) {
        if (!left_out.contains(row->size)) others.push_back(row);
      }
      if (others.size() <= numbers_.size()) continue;
      const std::vector<double> values = fit_numbers(others, numbers_).values;
      std::size_t at = 0;
      for (const auto& [key, rows] : by_curve_) {
        const BaseTime base = base_of(values, *rows.front());
        for (const double square : squares_at(points_[at], left_out, base)) squares[at].push_back(square);
        ++at;
      }
    }
    for (std::size_t i = 0; i < curves_.size(); ++i) curves_[i].quality.left_out_rms = root_mean(squares[i]);
  }

  // Squared errors of inner points at these sizes, each alone left out of its curve.
  static std::vector<double> squares_at(const PointFit& points, const std::set<double>& sizes,
                                        const BaseTime& base) {
    std::vector<double> squares;
    for (std::size_t i = 1; i + 1 < points.sizes.size(); ++i) {
      if (!sizes.contains(points.sizes[i])) continue;
      PointFit around;
      for (std::size_t j = i - 1; j <= i + 1; ++j) {
        around.sizes.push_back(points.sizes[j]);
        around.logs.push_back(points.logs[j]);
        around.weights.push_back(points.weights[j]);
      }
      squares.push_back(left_out_squares(around, [&](const auto&, const auto&) { return base; }).front());
    }
    return squares;
  }

  // Shapes left out, with the model alone and with neighbours; what errs less is kept.
  void choose_neighbours() {
    const HardwareProfile profile = profile_of_curves();
    constexpr double kNNeighbours = 8;  // 4, 8 and 12 do equally well on the public measurements of H100
    std::vector<double> alone_squares;
    std::vector<double> corrected_squares;
    std::vector<const FitRows*> shapes;
    for (const auto& [key, rows] : by_curve_) shapes.push_back(&rows);
    const std::size_t n_fits = std::min(kMostFits, shapes.size());
    for (std::size_t turn = 0; turn < n_fits; ++turn) {
      KernelModel alone = model_;
      alone.numbers = numbers_without(shapes, turn, n_fits);
      if (alone.numbers.empty()) continue;
      alone.numbers.push_back({"neighbour_distance", 0, 0});
      KernelModel corrected = alone;
      alone.numbers.push_back({"n_neighbours", 0, 0});
      corrected.numbers.push_back({"n_neighbours", kNNeighbours, 0});
      for (std::size_t i = turn; i < shapes.size(); i += n_fits) {
        for (const FitRow* row : *shapes[i]) {
          if (is_outlier(*row)) continue;
          const KernelCase& kernel = row->row->kernel;
          alone_squares.push_back(std::pow(std::log(gemm_shape_s(profile, alone, kernel) / row->time_s), 2));
          corrected_squares.push_back(
              std::pow(std::log(gemm_shape_s(profile, corrected, kernel) / row->time_s), 2));
        }
      }
    }
    const bool is_better = root_mean(corrected_squares) < root_mean(alone_squares);
    model_.numbers.resize(numbers_.size());
    model_.numbers.push_back({"n_neighbours", is_better ? kNNeighbours : 0, 0});
    model_.numbers.push_back({"neighbour_distance", typical_distance(), 0});
    model_.quality.left_out_rms = root_mean(is_better ? corrected_squares : alone_squares);
  }

  // The model fitted without every n_fits-th shape; empty where too few rows remain.
  std::vector<FittedNumber> numbers_without(const std::vector<const FitRows*>& shapes, std::size_t turn,
                                            std::size_t n_fits) const {
    FitRows others;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (i % n_fits != turn) others.insert(others.end(), shapes[i]->begin(), shapes[i]->end());
    }
    if (others.size() <= numbers_.size()) return {};
    return model_numbers(fit_numbers(others, numbers_));
  }

  // How far the nearest other shape is, of the middle shape.
  double typical_distance() const {
    std::vector<std::pair<double, double>> sides;
    for (const auto& [key, rows] : by_curve_) {
      const Shape shape = shape_of(*rows.front());
      const bool over_k = rows.front()->row->kernel.value("layout") == "nt";
      sides.emplace_back(std::log(over_k ? shape.m : shape.n), std::log(over_k ? shape.n : shape.k));
    }
    if (sides.size() < 2) return 0;
    std::vector<double> nearest;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      double least = INFINITY;
      for (std::size_t j = 0; j < sides.size(); ++j) {
        if (i != j)
          least =
              std::min(least, std::hypot(sides[i].first - sides[j].first, sides[i].second - sides[j].second));
      }
      nearest.push_back(least);
    }
    return median(nearest);
  }

  FitRows rows_;
  std::map<std::string, FitRows> by_curve_;
  std::vector<double> numbers_;
  KernelModel model_;
  std::vector<KernelCurve> curves_;  // in the order of by_curve_
  std::vector<PointFit> points_;
};

}  // namespace

void fit_gemms(const FitRows& rows, HardwareProfile& profile) {
  std::map<std::string, FitRows> by_model;
  for (FitRow* row : rows) by_model[row->row->kernel.text_without({"m", "n", "k"})].push_back(row);
  constexpr std::size_t kFewestRows = 6;
  for (auto& [key, some] : by_model) {
    if (some.size() >= kFewestRows) {
      GemmFit(key, some).run(profile);
    } else {
      fit_curves(some, profile);
    }
  }
}

}  // namespace packsim
