#include "calibration/fit/steps/framework_profile_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/plan/plan_key.hpp"

namespace packsim {

using Json = nlohmann::ordered_json;

double six_digits(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

double percent_of(double fraction) {
  return std::stod(fmt::format("{:.2f}", 100 * fraction));
}

namespace {

// First what every profile says, then what most frameworks do not do.
Json execution_json(const ExecutionStyle& execution) {
  const ParallelPlan plan{.execution = execution};
  Json json;
  for (const SaidByProfile said : {SaidByProfile::always, SaidByProfile::may}) {
    for (const PlanKey& key : plan_keys()) {
      if (key.profile != said) continue;
      const PlanValue value = key.get(plan);
      if (said == SaidByProfile::always || value != default_value(key))
        std::visit([&](const auto& one) { json[std::string(key.name())] = one; }, value);
    }
  }
  return json;
}

}  // namespace

std::string framework_profile_text(const FrameworkProfile& profile, const std::string& description,
                                   const std::vector<FittedNumber>& numbers, const Json& provenance) {
  Json fitted;
  for (const FrameworkNumber& number : kFrameworkNumbers)
    fitted[std::string(number.name)] = six_digits(profile.factors.*number.value);
  Json traits = Json::array();
  for (const PlanTrait trait : profile.fitted_on.traits) traits.push_back(plan_trait_kind(trait).name);
  Json json = {{"format", 3},
               {"name", profile.name},
               {"gpu", profile.gpu},
               {"hardware", profile.hardware},
               {"fitted_on",
                {{"models", profile.fitted_on.models},
                 {"gpus", profile.fitted_on.gpus},
                 {"n_gpus", {profile.fitted_on.least_gpus, profile.fitted_on.most_gpus}},
                 {"traits", traits}}},
               {"source", profile.source},
               {"description", description},
               {"plan", execution_json(profile.execution)},
               {"fitted", fitted}};
  if (profile.has_flash_attention_2) json["has_flash_attention_2"] = true;
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
