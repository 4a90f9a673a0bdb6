#include "reports/saved/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "files/text/printable.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

// Where a report was made, and not what was simulated.
constexpr std::array<std::string_view, 2> kOfNoInterest = {"command", "scenario"};

std::string value_of(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

std::vector<ChangedValue> changed_values(const SavedReport& before, const SavedReport& now) {
  std::set<std::string> names;
  for (const SavedReport* report : {&before, &now})
    for (const auto& [name, value] : report->manifest) names.insert(name);
  std::vector<ChangedValue> changed;
  for (const std::string& name : names) {
    ChangedValue value{name, value_of(before.manifest, name), value_of(now.manifest, name)};
    if (value.before != value.now && std::ranges::find(kOfNoInterest, name) == kOfNoInterest.end())
      changed.push_back(std::move(value));
  }
  return changed;
}

// What changed in the plan of a run, but for what changed in the manifest's just so.
void add_plan_changes(const SavedReport& before, const SavedReport& now, const RunChange& run,
                      std::vector<ChangedValue>& changed) {
  if (run.before->plan.empty()) return;
  for (const auto& [name, value] : run.now->plan) {
    const std::string earlier = value_of(run.before->plan, name);
    const bool is_of_all =
        value_of(before.manifest, name) == earlier && value_of(now.manifest, name) == value;
    if (earlier != value && !is_of_all) changed.push_back({run.now->name + "." + name, earlier, value});
  }
}

std::string state_of(const SavedRun& run) {
  if (run.has_time()) return quantity(run.times->gpu_days);
  if (run.failure) return "failed";
  return run.feasible ? "no iteration" : "OOM";
}

std::string signed_change(double fraction) {
  return fmt::format("{:+.2f}%", fraction == 0 ? 0 : 100 * fraction);
}

std::string largest_part_text(const Explanation& explanation) {
  const ExplainedPart& part = explanation.parts.front();
  if (part.change_units() == 0) return "";
  return fmt::format("{} {}{:.{}f}", part.name, part.change_units() > 0 ? "+" : "",
                     explanation.gpu_days(part.change_units()), explanation.decimals);
}

std::string names_of(const std::vector<const SavedRun*>& runs) {
  std::string names;
  for (const SavedRun* run : runs) names += (names.empty() ? "" : ", ") + printable_name(run->name);
  return names;
}

std::string shown_value(const std::string& value) {
  return value.empty() ? "nothing" : value;
}

}  // namespace

std::optional<double> RunChange::change_fraction() const {
  if (!before->has_time() || !now->has_time()) return std::nullopt;
  return now->times->gpu_days / before->times->gpu_days - 1;
}

ReportDiff diff(const SavedReport& before, const SavedReport& now) {
  ReportDiff found{.values = changed_values(before, now), .runs = {}, .removed = {}, .added = {}};
  for (const SavedRun& run : now.runs) {
    const SavedRun* const earlier = before.find(run.name);
    if (earlier == nullptr) {
      found.added.push_back(&run);
      continue;
    }
    RunChange& change = found.runs.emplace_back(RunChange{.before = earlier, .now = &run, .explanation = {}});
    if (change.change_fraction()) change.explanation = explain_runs(*earlier, run);
    add_plan_changes(before, now, change, found.values);
  }
  for (const SavedRun& run : before.runs)
    if (now.find(run.name) == nullptr) found.removed.push_back(&run);
  return found;
}

std::vector<std::string> regressions(const ReportDiff& diff, double most_fraction) {
  std::vector<std::string> found;
  for (const RunChange& run : diff.runs) {
    const std::optional<double> change = run.change_fraction();
    if (change && *change > most_fraction) {
      found.push_back(fmt::format("{}: {} GPU-days, {} before ({})", run.now->name,
                                  quantity(run.now->times->gpu_days), quantity(run.before->times->gpu_days),
                                  signed_change(*change)));
    } else if (run.before->has_time() && !run.now->has_time()) {
      found.push_back(fmt::format("{}: {}, {} GPU-days before", run.now->name, state_of(*run.now),
                                  state_of(*run.before)));
    }
  }
  for (const SavedRun* run : diff.removed)
    found.push_back(fmt::format("{}: not in the new report", run->name));
  return found;
}

std::string diff_text(const ReportDiff& diff, int width_columns) {
  std::string text;
  const auto line = [&](const std::string& one) { text += wrapped(printable(one), width_columns, 4); };
  if (diff.values.empty()) line("Both reports are of the same job, priced with the same profiles.");
  for (const ChangedValue& value : diff.values)
    line(fmt::format("{}: {} -> {}", value.name, shown_value(value.before), shown_value(value.now)));
  std::vector<std::vector<std::string>> rows = {{"GPU-days", "before", "now", "change", "largest part"}};
  for (const RunChange& run : diff.runs) {
    const std::optional<double> change = run.change_fraction();
    rows.push_back({printable_name(run.now->name), state_of(*run.before), state_of(*run.now),
                    change ? signed_change(*change) : "-",
                    run.explanation ? largest_part_text(*run.explanation) : ""});
  }
  if (rows.size() > 1) text += "\n" + text_table(rows);
  if (!diff.added.empty()) line("Only in the new report: " + names_of(diff.added));
  if (!diff.removed.empty()) line("Only in the old report: " + names_of(diff.removed));
  return text;
}

std::string diff_json(const ReportDiff& diff) {
  nlohmann::ordered_json json = {{"values", nlohmann::ordered_json::array()},
                                 {"runs", nlohmann::ordered_json::array()},
                                 {"added", nlohmann::ordered_json::array()},
                                 {"removed", nlohmann::ordered_json::array()}};
  for (const ChangedValue& value : diff.values)
    json["values"].push_back({{"name", value.name}, {"before", value.before}, {"now", value.now}});
  for (const RunChange& run : diff.runs) {
    nlohmann::ordered_json one = {{"name", run.now->name},
                                  {"before_gpu_days", nullptr},
                                  {"now_gpu_days", nullptr},
                                  {"change_fraction", nullptr},
                                  {"parts", nlohmann::ordered_json::array()}};
    if (run.before->has_time()) one["before_gpu_days"] = run.before->times->gpu_days;
    if (run.now->has_time()) one["now_gpu_days"] = run.now->times->gpu_days;
    if (const std::optional<double> change = run.change_fraction()) one["change_fraction"] = *change;
    if (run.explanation)
      one["parts"] = nlohmann::ordered_json::parse(explanation_json(*run.explanation))["parts"];
    json["runs"].push_back(one);
  }
  for (const SavedRun* run : diff.added) json["added"].push_back(run->name);
  for (const SavedRun* run : diff.removed) json["removed"].push_back(run->name);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace packsim
