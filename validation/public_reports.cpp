#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// These are the project's targets.
constexpr double kMostMissed = 0;
constexpr double kGigabyte = 1e9;

// What a report says of a run: a number, or whether something is so.
struct Quantity {
  std::string_view name;
  std::string_view text;
  std::string_view unit;  // of what is shown; empty: yes or no
  double (*of)(const StrategyResult& run);
};

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double in_gigabytes(const StrategyResult& run, double (*bytes)(const MemoryPeak& peak)) {
  return run.groups.empty() ? kNothing : bytes(run.groups.back().memory) / kGigabyte;
}

constexpr std::array<Quantity, 6> kQuantities = {{
    {"allocated_bytes", "allocated memory", "GB",
     [](const StrategyResult& run) {
       return in_gigabytes(run, [](const MemoryPeak& peak) { return peak.allocated_bytes(); });
     }},
    {"state_bytes", "weights, gradients and optimizer", "GB",
     [](const StrategyResult& run) {
       return in_gigabytes(run, [](const MemoryPeak& peak) {
         return peak.weights_bytes + peak.gradients_bytes + peak.optimizer_bytes;
       });
     }},
    {"step_s", "a step", "s",
     [](const StrategyResult& run) { return run.times ? run.times->step_mean_s : kNothing; }},
    {"optimizer_s", "the optimizer", "s",
     [](const StrategyResult& run) {
       return run.times ? run.times->shares.of(Cause::optimizer) * run.times->step_mean_s : kNothing;
     }},
    {"fits", "fits in memory", "", [](const StrategyResult& run) { return run.feasible ? 1.0 : 0.0; }},
    {"accepted", "is accepted", "", [](const StrategyResult& run) { return run.failure ? 0.0 : 1.0; }},
}};

// One public report. The scenarios of its name are in the folder public_reports.
struct PublicReport {
  std::string name;
  std::string less;  // a scenario of which the number is taken off; empty: none
  const Quantity* quantity = nullptr;
  double expected = 0;
  double tolerance = 0;
  bool is_fitted = false;
  std::string note;
};

PublicReport read_report(JsonReader& reader) {
  PublicReport report;
  report.name = reader.string("name");
  report.less = reader.string("less", "");
  report.quantity = reader.row_of("quantity", kQuantities);
  const bool is_number = report.quantity == nullptr || !report.quantity->unit.empty();
  report.expected = is_number ? reader.number("expected", 0) : reader.boolean("expected");
  report.tolerance = is_number ? reader.number("tolerance", 0) : 0;
  report.is_fitted = reader.boolean("fitted", false);
  report.note = reader.string("note") + " Source: " + reader.string("source") + ".";
  return report;
}

std::vector<PublicReport> read_reports(const std::string& path) {
  Problems problems;
  const JsonDocument document = read_json(path, problems);
  std::vector<PublicReport> reports;
  {
    JsonReader reader(document, problems);
    reader.integer("format", 1, 1);
    for (JsonReader& report : reader.objects("reports")) reports.push_back(read_report(report));
  }
  problems.throw_if_any();
  return reports;
}

double value_of(const PublicReport& report, const std::string& name, const DataPaths& data) {
  const std::string path = data.root + "/validation/public_reports/" + name + ".json";
  const Report run = compare_strategies(load_scenario(path, data), {.n_threads = 2, .keeps_failures = true});
  return report.quantity->of(run.runs.front());
}

ValidationRow row_of(const PublicReport& report, const DataPaths& data) {
  double value = value_of(report, report.name, data);
  if (!report.less.empty()) value -= value_of(report, report.less, data);
  const bool is_number = !report.quantity->unit.empty();
  const double expected = report.quantity->unit == "GB" ? report.expected / kGigabyte : report.expected;
  ValidationRow row =
      compared_row(report.name + ": " + std::string(report.quantity->text), expected, value,
                   is_number ? std::string(report.quantity->unit) : "1 = yes", report.tolerance, !is_number);
  row.is_fitted = report.is_fitted;
  row.note = report.note;
  return row;
}

}  // namespace

ValidationSet validate_public_reports(const DataPaths& data) {
  ValidationSet set{.name = "public-reports",
                    .title = "Jobs of public reports",
                    .about =
                        "What users and maintainers reported of one job each, beside a scenario of that job "
                        "(validation/public_reports)"};
  double n_missed = 0;
  for (const PublicReport& report : read_reports(data.root + "/validation/public_reports.json")) {
    set.rows.push_back(row_of(report, data));
    if (set.rows.back().outcome == Outcome::missed) ++n_missed;
  }
  set.bounds = {
      {"share outside their tolerance", n_missed / static_cast<double>(set.rows.size()), kMostMissed}};
  return set;
}

}  // namespace packsim
