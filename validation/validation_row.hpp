#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace packsim {

/// What became of a published number.
enum class Outcome : std::uint8_t {
  met,
  missed,
  reported,  ///< nobody promised anything
  refused,   ///< the simulator does not model it, and says so
};

/// Nine of ten true values are to lie in it.
struct Interval {
  double low = 0;
  double high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// One published number and ours.
struct ValidationRow {
  std::string name;
  double published = 0;
  double predicted = 0;  ///< NaN where refused
  std::string unit;      ///< "s", "GPU-days", "layers", "ratio"
  /// How far off: a share of what was published; of layers their number. NaN where refused.
  double error = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> tolerance = {};  ///< of this row alone, in the error's unit
  bool is_fitted = false;                ///< the published number went into a fit
  Outcome outcome = Outcome::reported;
  std::optional<Interval> interval = {};  ///< of what is predicted
  std::string beside = {};                ///< what else was published of it, and ours: "ABR .506 (.511)"
  std::string note = {};                  ///< why it misses, or is not modelled
};

/// A bound on rows together.
struct ValidationBound {
  std::string what;  ///< "mean error"
  double value = 0;
  double bound = 0;
  bool is_met() const { return value <= bound; }
};

/// Published numbers of one kind.
struct ValidationSet {
  std::string name;   ///< as on the command line: hbp-steps
  std::string title;  ///< as in docs/accuracy/
  std::string about;  ///< what the numbers rest on
  std::vector<ValidationRow> rows = {};
  std::vector<ValidationBound> bounds = {};
};

/// predicted over published less 1.
double relative_error(double predicted, double published);
/// met where |error| is within the tolerance, missed where it is not; reported where there is no tolerance.
Outcome outcome_of(double error, std::optional<double> tolerance);
const char* outcome_name(Outcome outcome);

/// Of the rows that are not refused; 0 of none.
double mean_error(const std::vector<ValidationRow>& rows);
double worst_error(const std::vector<ValidationRow>& rows);
/// The smallest error that this share of the rows does not exceed: 0.5 is the median.
double error_quantile(const std::vector<ValidationRow>& rows, double share);

}  // namespace packsim
