#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/fit/steps/framework_fit.hpp"
#include "calibration/fit/steps/framework_profile_json.hpp"

namespace packsim {
namespace {

using Json = nlohmann::ordered_json;

Json row_json(const FrameworkFitRow& row) {
  Json json = {{"step", row.step},
               {"measured_s", six_digits(row.measured_s)},
               {"predicted_s", six_digits(row.predicted_s)},
               {"left_out_s", six_digits(row.left_out_s)}};
  if (row.measured_memory_bytes) {
    json["measured_memory_bytes"] = six_digits(*row.measured_memory_bytes);
    json["predicted_memory_bytes"] = six_digits(row.predicted_memory_bytes);
  }
  return json;
}

}  // namespace

std::string framework_profile_json(const FrameworkFit& fit) {
  Json rows = Json::array();
  for (const FrameworkFitRow& row : fit.rows) rows.push_back(row_json(row));
  Json provenance = {{"assumed", fit.assumed},
                     {"step_time_error_percent",
                      {{"mean", percent_of(fit.mean_error)},
                       {"max", percent_of(fit.max_error)},
                       {"left_out_mean", percent_of(fit.left_out_mean_error)},
                       {"left_out_max", percent_of(fit.left_out_max_error)}}},
                     {"memory_error_percent", percent_of(fit.memory_mean_error)},
                     {"results", rows}};
  if (fit.launch) provenance["launch_standard_error_s"] = six_digits(fit.launch->standard_error);
  return framework_profile_text(fit.profile, fit.description, fit.numbers, provenance);
}

std::string framework_numbers_text(const FrameworkFit& fit) {
  std::string text;
  for (const FittedNumber& number : fit.numbers) {
    const bool assumed = std::ranges::find(fit.assumed, number.name) != fit.assumed.end();
    text += fmt::format(
        "{:<30} {:>10.4g}  {}\n", number.name, number.value,
        assumed ? "assumed: the rows do not tell it" : fmt::format("+- {:.2g}", number.standard_error));
  }
  if (fit.launch)
    text += fmt::format("{:<30} {:>10.4g}  +- {:.2g}\n", fit.launch->name, fit.launch->value,
                        fit.launch->standard_error);
  return text;
}

std::string framework_fit_text(const FrameworkFit& fit) {
  std::string text = fmt::format("{} ({}) on {}: {}\n\n", fit.profile.name, fit.profile.gpu,
                                 fit.profile.hardware, fit.profile.source) +
                     framework_numbers_text(fit);
  text += fmt::format(
      "\nstep times: mean error {:.1f} %, worst {:.1f} %; rows left out {:.1f} and {:.1f} %\n",
      100 * fit.mean_error, 100 * fit.max_error, 100 * fit.left_out_mean_error, 100 * fit.left_out_max_error);
  if (fit.memory_mean_error > 0)
    text += fmt::format("peak memory: mean error {:.1f} %\n", 100 * fit.memory_mean_error);
  return text;
}

}  // namespace packsim
