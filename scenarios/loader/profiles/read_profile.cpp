#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

FrameworkFactors read_factors(JsonReader fitted) {
  FrameworkFactors factors;
  for (const auto& [name, value] : kFrameworkNumbers)
    factors.*value = name.ends_with("_factor") ? fitted.positive(name) : fitted.number(name, 0);
  return factors;
}

ExecutionStyle read_execution(JsonReader reader) {
  ParallelPlan plan = default_plan();
  for (const PlanKey& key : plan_keys()) {
    if (key.profile == SaidByProfile::never) continue;
    if (key.profile == SaidByProfile::always && !reader.has(key.name()))
      reader.refuse(key.name(), expected_of(key));
    read_plan_value(reader, key, plan);
  }
  return plan.execution;
}

// Checks the standard errors, which are for people; prices use the covariance.
void read_standard_errors(JsonReader errors) {
  for (const FrameworkNumber& number : kFrameworkNumbers) {
    if (errors.value(number.name) != nullptr) errors.number(number.name, 0);
  }
}

// A square of numbers, its diagonal variances.
bool is_covariance(const Json& rows) {
  if (!rows.is_array() || rows.size() != kNTimeFactors * kNTimeFactors) return false;
  if (!std::ranges::all_of(rows, [](const Json& value) { return value.is_number(); })) return false;
  for (std::size_t k = 0; k < kNTimeFactors; ++k) {
    for (std::size_t other = 0; other < kNTimeFactors; ++other) {
      if (rows[k * kNTimeFactors + other] != rows[other * kNTimeFactors + k]) return false;
    }
    if (rows[k * (kNTimeFactors + 1)].get<double>() < 0) return false;
  }
  return true;
}

std::vector<double> read_covariance(JsonReader& reader) {
  const Json* rows = reader.value("log_covariance");
  if (rows == nullptr) return {};
  if (is_covariance(*rows)) return rows->get<std::vector<double>>();
  reader.refuse("log_covariance",
                fmt::format("{} numbers, a symmetric {} x {} matrix with a diagonal of at least 0",
                            kNTimeFactors * kNTimeFactors, kNTimeFactors, kNTimeFactors));
  return {};
}

// gpu: of steps of which the file does not say it.
FitScope read_scope(JsonReader reader, const std::string& gpu) {
  constexpr int kMostGpusOfFit = 1 << 24;
  FitScope scope;
  if (reader.silent()) return scope;
  const auto is_text = [](const Json& text) { return text.is_string(); };
  const auto texts = [&](const char* key) {
    const Json* array = reader.value(key);
    const bool are_texts = array != nullptr && array->is_array() && std::ranges::all_of(*array, is_text);
    if (!are_texts) reader.refuse(key, "array of texts");
    return are_texts ? array->get<std::vector<std::string>>() : std::vector<std::string>();
  };
  scope.models = texts("models");
  scope.gpus = reader.has("gpus") ? texts("gpus") : std::vector{gpu};
  const std::vector<int> n_gpus = reader.integers("n_gpus", 1, kMostGpusOfFit);
  if (n_gpus.size() == 2 && n_gpus[0] <= n_gpus[1]) {
    scope.least_gpus = n_gpus[0];
    scope.most_gpus = n_gpus[1];
  } else {
    reader.refuse("n_gpus", "[fewest, most] GPUs of the steps");
  }
  const std::vector<std::string> names = texts("traits");
  for (const PlanTraitKind& kind : kPlanTraits) {
    if (std::ranges::find(names, kind.name) != names.end()) scope.traits.push_back(kind.trait);
  }
  for (const std::string& name : names) {
    if (std::ranges::find(kPlanTraits, name, &PlanTraitKind::name) != kPlanTraits.end()) continue;
    reader.refuse("traits", "some of " + join(names_in(kPlanTraits)), quote(name));
  }
  return scope;
}

// Rates of a whole step, which knew no kernels, or factors that did not say what they were fitted to.
bool is_older_format(JsonReader& reader) {
  const Json* format = reader.value("format");
  if (format == nullptr || (*format != 1 && *format != 2)) return false;
  reader.refuse("format",
                "3: factors on a hardware profile, and what they were fitted on; make a new one of the same "
                "measured steps with packsim calibrate fit STEPS --on HARDWARE --framework FILE");
  reader.allow_any_keys();
  return true;
}

}  // namespace

FrameworkProfile read_profile(JsonReader reader) {
  constexpr int kMostGroups = 1'000'000;
  if (is_older_format(reader)) return {};
  reader.integer("format", 3, 3);
  FrameworkProfile profile;
  profile.name = reader.string("name");
  profile.gpu = reader.string("gpu");
  profile.hardware = reader.string("hardware");
  profile.source = reader.string("source");
  profile.fitted_on = read_scope(reader.object("fitted_on"), profile.gpu);
  reader.string("description", "");  // for people
  profile.execution = read_execution(reader.object("plan"));
  profile.factors = read_factors(reader.object("fitted"));
  profile.has_flash_attention_2 = reader.boolean("has_flash_attention_2", false);
  read_standard_errors(reader.optional_object("standard_error"));
  profile.log_covariance = read_covariance(reader);
  if (reader.value("left_out_error") != nullptr) profile.left_out_error = reader.number("left_out_error", 0);
  profile.left_out_groups = reader.integer("left_out_groups", 1, kMostGroups, 0);
  // How the numbers came about, in whatever form tells it best.
  reader.object("provenance").allow_any_keys();
  return profile;
}

}  // namespace packsim
