#include "calibration/fit/steps/framework_profile_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace packsim {

using Json = nlohmann::ordered_json;

double six_digits(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

double percent_of(double fraction) {
  return std::stod(fmt::format("{:.2f}", 100 * fraction));
}

std::string framework_profile_text(const FrameworkProfile& profile, const std::string& description,
                                   const std::vector<FittedNumber>& numbers, const Json& provenance) {
  const FrameworkFactors& factors = profile.factors;
  Json traits = Json::array();
  for (const PlanTrait trait : profile.fitted_on.traits) traits.push_back(plan_trait_kind(trait).name);
  Json json = {{"format", 3},
               {"name", profile.name},
               {"gpu", profile.gpu},
               {"hardware", profile.hardware},
               {"fitted_on",
                {{"models", profile.fitted_on.models},
                 {"n_gpus", {profile.fitted_on.least_gpus, profile.fitted_on.most_gpus}},
                 {"traits", traits}}},
               {"source", profile.source},
               {"description", description},
               {"plan",
                {{"fp32_gradients", profile.execution.fp32_gradients},
                 {"overlaps_states", profile.execution.overlaps_states},
                 {"recompute_stops_early", profile.execution.recompute_stops_early},
                 {"bucket_elements", profile.execution.bucket_elements}}},
               {"fitted",
                {{"linear_factor", six_digits(factors.linear_factor)},
                 {"attention_factor", six_digits(factors.attention_factor)},
                 {"exchange_in_node_factor", six_digits(factors.exchange_in_node_factor)},
                 {"exchange_between_factor", six_digits(factors.exchange_between_factor)},
                 {"micro_batch_s", six_digits(factors.micro_batch_s)},
                 {"step_s", six_digits(factors.step_s)},
                 {"reserved_bytes", six_digits(factors.reserved_bytes)},
                 {"logits_bytes_per_vocab_entry", six_digits(factors.logits_bytes_per_vocab_entry)}}}};
  // What most frameworks do not do is said of those that do.
  if (profile.execution.overlaps_gather) json["plan"]["overlaps_gather"] = true;
  if (profile.execution.overlaps_tensor) json["plan"]["overlaps_tensor"] = true;
  if (profile.execution.plain_gradients) json["plan"]["plain_gradients"] = true;
  if (profile.execution.launch_s != kTorchLaunch_s) json["plan"]["launch_s"] = profile.execution.launch_s;
  Json errors = Json::object();
  for (const FittedNumber& number : numbers) {
    if (number.standard_error > 0) errors[number.name] = six_digits(number.standard_error);
  }
  json["standard_error"] = errors;
  Json covariance = Json::array();
  for (const double value : profile.log_covariance) covariance.push_back(six_digits(value));
  if (!covariance.empty()) json["log_covariance"] = covariance;
  if (profile.left_out_error) json["left_out_error"] = six_digits(*profile.left_out_error);
  if (profile.left_out_groups > 0) json["left_out_groups"] = profile.left_out_groups;
  json["provenance"] = provenance;
  return json.dump(2) + "\n";
}

}  // namespace packsim
