#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/step/time_errors.hpp"

namespace packsim {

/// How our prediction compares with a published number.
enum class Outcome : std::uint8_t {
  met,
  missed,
  reported,  ///< there is no tolerance to meet
  refused,   ///< the simulator does not model it
};

/// The interval in which nine of ten true values should lie.
struct Interval {
  double low = 0;
  double high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// One published number and our prediction of it.
struct ValidationRow {
  std::string name;
  double published = 0;
  double predicted = 0;  ///< NaN if refused
  std::string unit;      ///< "s", "GPU-days", "layers", "ratio", "ABR", "rank correlation"
  /// Error of the prediction: a share of the published number, or their difference. NaN if refused.
  double error = std::numeric_limits<double>::quiet_NaN();
  bool error_is_difference = false;
  std::optional<double> tolerance = {};  ///< tolerance of this row, in the error's unit
  bool is_fitted = false;                ///< whether the published number went into a fit
  Outcome outcome = Outcome::reported;
  std::optional<Interval> interval = {};  ///< interval of the predicted number
  std::optional<TimeErrors> errors = {};  ///< what the interval is made of, if the number is a time
  /// Rows of a set with the same job differ in how it is packed and parallelised only: "llm_foundry mpt-7b".
  /// Up to the first blank it names the source.
  std::string job = {};
  /// Other published numbers, with ours in brackets: "ABR .506 (.511)".
  std::string beside = {};
  std::string note = {};  ///< why it misses its tolerance, or is not modelled
};

/// A bound on a number that is computed of all rows, such as their mean error.
struct ValidationBound {
  std::string what;  ///< "mean error"
  double value = 0;
  double bound = 0;
  bool is_met() const { return value <= bound; }
};

/// Published numbers of one kind.
struct ValidationSet {
  std::string name;   ///< name on the command line, such as hbp-steps
  std::string title;  ///< title in docs/accuracy/
  std::string about;  ///< what the numbers rest on
  std::vector<ValidationRow> rows = {};
  std::vector<ValidationBound> bounds = {};
};

/// predicted / published - 1.
double relative_error(double predicted, double published);
/// met if |error| is within the tolerance, missed if it is not; reported if there is no tolerance.
Outcome outcome_of(double error, std::optional<double> tolerance);
const char* outcome_name(Outcome outcome);
/// A row with its error and whether the tolerance is met, which a prediction of NaN never does.
/// error_is_difference: the error is not a share of the published number.
ValidationRow compared_row(const std::string& name, double published, double predicted,
                           const std::string& unit, std::optional<double> tolerance = {},
                           bool error_is_difference = false);

/// Mean and largest |error| of the rows that are not refused; 0 if there are none.
double mean_error(const std::vector<ValidationRow>& rows);
double worst_error(const std::vector<ValidationRow>& rows);
/// The |error| that this share of the rows does not exceed: share 0.5 gives the median.
double error_quantile(const std::vector<ValidationRow>& rows, double share);

}  // namespace packsim
