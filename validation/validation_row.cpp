#include "validation/validation_row.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace packsim {
namespace {

std::vector<double> sorted_errors(const std::vector<ValidationRow>& rows) {
  std::vector<double> errors;
  for (const ValidationRow& row : rows) {
    if (row.outcome != Outcome::refused) errors.push_back(std::abs(row.error));
  }
  std::ranges::sort(errors);
  return errors;
}

}  // namespace

double relative_error(double predicted, double published) {
  return predicted / published - 1;
}

Outcome outcome_of(double error, std::optional<double> tolerance) {
  if (!tolerance) return Outcome::reported;
  return std::abs(error) <= *tolerance ? Outcome::met : Outcome::missed;
}

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::met:
      return "met";
    case Outcome::missed:
      return "missed";
    case Outcome::reported:
      return "reported";
    case Outcome::refused:
      return "not modelled";
  }
  return "";
}

ValidationRow compared_row(const std::string& name, double published, double predicted,
                           const std::string& unit, std::optional<double> tolerance,
                           bool error_is_difference) {
  const double error = error_is_difference ? predicted - published : relative_error(predicted, published);
  return {.name = name,
          .published = published,
          .predicted = predicted,
          .unit = unit,
          .error = error,
          .error_is_difference = error_is_difference,
          .tolerance = tolerance,
          .outcome = outcome_of(error, tolerance)};
}

double mean_error(const std::vector<ValidationRow>& rows) {
  const std::vector<double> errors = sorted_errors(rows);
  if (errors.empty()) return 0;
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
}

double worst_error(const std::vector<ValidationRow>& rows) {
  return error_quantile(rows, 1);
}

double error_quantile(const std::vector<ValidationRow>& rows, double share) {
  const std::vector<double> errors = sorted_errors(rows);
  if (errors.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(errors.size())));
  return errors[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace packsim
