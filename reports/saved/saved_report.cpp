#include "reports/saved/saved_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "reports/formats/formats.hpp"
#include "reports/tables/time_parts.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kMostNumber = std::numeric_limits<double>::max();
constexpr std::string_view kParallelism = "parallelism";

SavedRun::Times read_times(JsonReader& reader) {
  SavedRun::Times times;
  times.gpu_days = reader.number("gpu_days", 0, kMostNumber);
  times.gpu_days_low = reader.number("gpu_days_low", 0, times.gpu_days);
  times.gpu_days_high = reader.number("gpu_days_high", 0, kMostNumber);
  times.wall_hours = reader.number("wall_hours", 0, kMostNumber);
  double sum = 0;
  for (const formats_detail::TimePart& part : formats_detail::time_parts()) {
    const double fraction = reader.number(formats_detail::fraction_key(part), 0, 1);
    (part.cause ? times.shares.by_cause[static_cast<std::size_t>(*part.cause)] : times.shares.idle) =
        fraction;
    sum += fraction;
  }
  if (times.gpu_days > 0 && std::abs(sum - 1) > 1e-6)
    reader.refuse("idle_fraction", "fractions of the time that add up to 1", fmt::format("{}", sum));
  return times;
}

// The values of an object by their places in it.
void add_values(const Json& value, const std::string& place, std::map<std::string, std::string>& values) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      add_values(member, place.empty() ? key : place + "." + key, values);
  } else {
    values[place] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

SavedRun read_run(JsonReader& reader) {
  reader.allow_any_keys();
  SavedRun run;
  run.name = reader.string("name");
  run.failure = reader.nullable_string("failure");
  run.differences = reader.nullable_string("differences");
  run.feasible = reader.boolean("feasible");
  const Json* const gpu_days = reader.value("gpu_days");
  if (gpu_days != nullptr && !gpu_days->is_null()) run.times = read_times(reader);
  run.abr = reader.nullable_number("abr");
  run.cr = reader.nullable_number("cr");
  run.pr = reader.nullable_number("pr");
  run.packs = reader.integer("packs", 0, kMost);
  run.iterations = reader.integer("iterations", 0, kMost);
  run.trained_tokens = reader.integer("trained_tokens", 0, kMost);
  run.repeated_tokens = reader.integer("repeated_tokens", 0, kMost);
  run.dropped_tokens = reader.integer("dropped_tokens", 0, kMost);
  run.truncated_tokens = reader.integer("truncated_tokens", 0, kMost);
  const Json* const plan = reader.value(kParallelism);
  if (plan != nullptr && plan->is_object()) add_values(*plan, std::string(kParallelism), run.plan);
  return run;
}

void read_manifest(JsonReader& root, std::map<std::string, std::string>& values) {
  JsonReader manifest = root.object("manifest");
  manifest.allow_any_keys();
  manifest.string("version");
  manifest.string("scenario_hash");
  if (const Json* const value = root.value("manifest"); value != nullptr) add_values(*value, "", values);
  JsonReader lengths = root.object("lengths");
  lengths.allow_any_keys();
  values["lengths.n_samples"] = std::to_string(lengths.integer("n_samples", 0, kMost));
  values["lengths.n_tokens"] = std::to_string(lengths.integer("n_tokens", 0, kMost));
  for (JsonReader& source : lengths.objects("sources")) {
    source.allow_any_keys();
    values["lengths of " + source.string("name")] = source.string("hash");
  }
}

}  // namespace

const SavedRun* SavedReport::find(const std::string& name) const {
  const auto found = std::ranges::find(runs, name, &SavedRun::name);
  return found == runs.end() ? nullptr : &*found;
}

SavedReport load_report(const std::string& path) {
  std::error_code unknown;  // reading says what is wrong with it
  SavedReport report;
  report.path = std::filesystem::is_directory(path, unknown) ? path + "/report.json" : path;
  Problems problems;
  const JsonDocument document = read_json(report.path, problems);
  JsonReader root(document, problems);
  root.allow_any_keys();
  root.integer("format", kReportFormat, kReportFormat);
  problems.throw_if_any();
  read_manifest(root, report.manifest);
  report.baseline = root.string("baseline", "");
  for (JsonReader& run : root.objects("runs")) report.runs.push_back(read_run(run));
  problems.throw_if_any();
  return report;
}

}  // namespace packsim
