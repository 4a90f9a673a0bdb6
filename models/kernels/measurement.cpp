#include "models/kernels/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace packsim {

double median(std::vector<double> values) {
  if (values.empty()) throw std::logic_error("the median of no values");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::optional<double> MeasurementSource::nic_bytes_per_s_of_gpu() const {
  const auto at = details.find("nic_bytes_per_s_of_gpu");
  if (at == details.end()) return std::nullopt;
  char* end = nullptr;
  const double rate = std::strtod(at->second.c_str(), &end);
  return *end == '\0' && rate > 0 ? std::optional(rate) : std::nullopt;
}

double Measurement::median_s() const {
  return median(samples_s);
}

double Measurement::relative_spread() const {
  const double centre = median_s();
  std::vector<double> deviations;
  for (const double sample_s : samples_s) deviations.push_back(std::abs(sample_s - centre));
  // The standard deviation of a normal distribution is 1.4826 median absolute deviations.
  return 1.4826 * median(deviations) / centre;
}

bool Measurement::has_flag(std::string_view flag) const {
  return std::ranges::find(flags, flag) != flags.end();
}

const MeasurementSource& Measurements::source_of(const Measurement& row) const {
  const auto at = std::ranges::find(sources, row.source, &MeasurementSource::id);
  if (at == sources.end()) throw std::logic_error("no source \"" + row.source + "\" of " + row.kernel.text());
  return *at;
}

}  // namespace packsim
