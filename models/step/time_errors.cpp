#include "models/step/time_errors.hpp"

#include <cmath>

namespace packsim {
namespace {

constexpr double kNineOfTen = 1.6448536269514722;  // standard deviations on either side

double root_of_squares(const std::map<std::string, double>& errors) {
  double squares = 0;
  for (const auto& [cause, error] : errors) squares += error * error;
  return std::sqrt(squares);
}

}  // namespace

double time_error(const TimeErrors& errors) {
  return std::hypot(root_of_squares(errors.shared), errors.own);
}

double ratio_error(const TimeErrors& a, const TimeErrors& b) {
  std::map<std::string, double> difference = a.shared;
  for (const auto& [cause, error] : b.shared) difference[cause] -= error;
  return std::hypot(root_of_squares(difference), a.own, b.own);
}

double nine_of_ten_factor(double error) {
  return std::exp(kNineOfTen * error);
}

}  // namespace packsim
