#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

FrameworkFactors read_factors(JsonReader fitted) {
  FrameworkFactors factors;
  factors.linear_factor = fitted.positive("linear_factor");
  factors.attention_factor = fitted.positive("attention_factor");
  factors.exchange_in_node_factor = fitted.positive("exchange_in_node_factor");
  factors.exchange_between_factor = fitted.positive("exchange_between_factor");
  factors.micro_batch_s = fitted.number("micro_batch_s", 0);
  factors.step_s = fitted.number("step_s", 0);
  factors.reserved_bytes = fitted.number("reserved_bytes", 0);
  factors.logits_bytes_per_vocab_entry = fitted.number("logits_bytes_per_vocab_entry", 0);
  return factors;
}

ExecutionStyle read_execution(JsonReader plan) {
  ExecutionStyle execution;
  execution.launch_s = plan.has("launch_s") ? plan.number("launch_s", 0, 1) : kTorchLaunch_s;
  execution.fp32_gradients = plan.boolean("fp32_gradients");
  execution.overlaps_states = plan.boolean("overlaps_states");
  execution.overlaps_gather = plan.boolean("overlaps_gather", false);
  execution.overlaps_tensor = plan.boolean("overlaps_tensor", false);
  execution.recompute_stops_early = plan.boolean("recompute_stops_early");
  execution.plain_gradients = plan.boolean("plain_gradients", false);
  execution.bucket_elements = plan.integer("bucket_elements", 1, std::int64_t{1} << 40);
  return execution;
}

// For people; what prices takes the covariance.
void read_standard_errors(JsonReader errors) {
  for (const std::string_view name : kTimeFactorNames) {
    if (errors.value(name) != nullptr) errors.number(name, 0);
  }
  for (const char* name : {"reserved_bytes", "logits_bytes_per_vocab_entry"}) {
    if (errors.value(name) != nullptr) errors.number(name, 0);
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

FitScope read_scope(JsonReader reader) {
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
    std::string known;
    for (const PlanTraitKind& kind : kPlanTraits)
      known += (known.empty() ? "" : ", ") + std::string(kind.name);
    reader.refuse("traits", "some of " + known, quote(name));
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
  profile.fitted_on = read_scope(reader.object("fitted_on"));
  reader.string("description", "");  // for people
  profile.execution = read_execution(reader.object("plan"));
  profile.factors = read_factors(reader.object("fitted"));
  read_standard_errors(reader.optional_object("standard_error"));
  profile.log_covariance = read_covariance(reader);
  if (reader.value("left_out_error") != nullptr) profile.left_out_error = reader.number("left_out_error", 0);
  profile.left_out_groups = reader.integer("left_out_groups", 1, kMostGroups, 0);
  // How the numbers came about, in whatever form tells it best.
  reader.object("provenance").allow_any_keys();
  return profile;
}

}  // namespace packsim
