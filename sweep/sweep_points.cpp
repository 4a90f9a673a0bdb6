#include "sweep/sweep_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "files/file_error.hpp"
#include "reports/text/numbers.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "sweep/grid.hpp"
#include "sweep/point_columns.hpp"

namespace packsim {
namespace {

constexpr double kBytesPerGibibyte = 1024.0 * 1024.0 * 1024.0;

// The table `points`, a list of values for each column.
class PointTable {
 public:
  PointTable(SweepDatabase& database, const std::string& path) {
    for (const std::vector<Value>& row : database.select("SELECT name FROM pragma_table_info('points')"))
      names_.push_back(std::get<std::string>(row.front()));
    check_size(database, path);
    columns_.resize(names_.size());
    for (const std::vector<Value>& row : database.select("SELECT * FROM points ORDER BY point")) {
      for (std::size_t c = 0; c < row.size(); ++c) columns_[c].push_back(row[c]);
    }
    for (std::size_t c = 0; c < names_.size(); ++c) index_of_.try_emplace(names_[c], c);
  }

  const std::vector<std::string>& names() const { return names_; }
  std::size_t n_points() const { return columns_.front().size(); }

  // Null where the table has no such column.
  const std::vector<Value>* column(const std::string& name) const {
    const auto found = index_of_.find(name);
    return found == index_of_.end() ? nullptr : &columns_[found->second];
  }
  std::optional<double> number(const std::string& name, std::size_t point) const {
    const std::vector<Value>* values = column(name);
    if (values == nullptr) return std::nullopt;
    if (const auto* integer = std::get_if<std::int64_t>(&(*values)[point]))
      return static_cast<double>(*integer);
    const auto* number = std::get_if<double>(&(*values)[point]);
    return number == nullptr ? std::nullopt : std::optional(*number);
  }
  std::string text(const std::string& name, std::size_t point) const {
    const std::vector<Value>* values = column(name);
    const auto* text = values == nullptr ? nullptr : std::get_if<std::string>(&(*values)[point]);
    return text == nullptr ? std::string() : *text;
  }

 private:
  void check_size(SweepDatabase& database, const std::string& path) const {
    for (const char* needed : {"point", "status", "name", "gpu_days", "wall_hours"}) {
      if (std::ranges::find(names_, needed) == names_.end())
        throw UnusableFileError(path, "a database of packsim sweep",
                                "one without the column points." + std::string(needed));
    }
    const auto n = std::get<std::int64_t>(database.select("SELECT count(*) FROM points").front().front());
    if (n < 1 || n > kMostPagePoints)
      throw std::invalid_argument(
          fmt::format("{}: expected a sweep of 1 to {} points for a page, got {}", path, kMostPagePoints, n));
  }

  std::vector<std::string> names_;
  std::vector<std::vector<Value>> columns_;
  std::map<std::string, std::size_t> index_of_;
};

PointStanding standing_of(const PointTable& table, std::size_t point) {
  const std::string status = table.text("status", point);
  if (status == kDoesNotFit) return PointStanding::does_not_fit;
  if (status == kFailed) return PointStanding::failed;
  if (status != kSimulated) return PointStanding::refused;
  return table.text("differences", point).empty() ? PointStanding::compared : PointStanding::other_job;
}

// A run with failures has their expected time, and an interval that is as far off in its failures as in its
// prices, as in times_of() in recommend/.
void add_times(const PointTable& table, std::size_t i, PlanningPoint& point) {
  const auto gpu_days = table.number("gpu_days", i);
  const auto hours = table.number("wall_hours", i);
  if (!gpu_days || !hours || *gpu_days <= 0) return;
  // Databases of earlier versions have no columns of whole runs.
  const std::string whole = table.number("whole_gpu_days", i) ? "whole_" : "";
  const double gpu_days_of_run = table.number(whole + "gpu_days", i).value_or(*gpu_days);
  double low = table.number(whole + "gpu_days_low", i).value_or(gpu_days_of_run) / gpu_days_of_run;
  double high = table.number(whole + "gpu_days_high", i).value_or(gpu_days_of_run) / gpu_days_of_run;
  const double expected = table.number("gpu_days_with_failures", i).value_or(gpu_days_of_run);
  const double expected_hours = table.number("wall_hours_with_failures", i)
                                    .value_or(table.number(whole + "wall_hours", i).value_or(*hours));
  low *= table.number("gpu_days_with_failures_p05", i).value_or(expected) / expected;
  high *= table.number("gpu_days_with_failures_p95", i).value_or(expected) / expected;
  point.gpu_days = PlanningAmount{expected, low * expected, high * expected};
  point.hours = PlanningAmount{expected_hours, low * expected_hours, high * expected_hours};
  if (const auto cost = table.number("cost", i)) {
    const double money = table.number("cost_with_failures", i).value_or(*cost);
    point.money = PlanningAmount{money, low * money, high * money};
  }
}

// An infinite time is null in a database; what else failures say of the run is not.
bool never_finishes(const PointTable& table, std::size_t i) {
  return table.number("effective_fraction", i) && !table.number("gpu_days_with_failures", i);
}

std::vector<PlanningPoint> points_of(const PointTable& table) {
  std::vector<PlanningPoint> points(table.n_points());
  for (std::size_t i = 0; i < points.size(); ++i) {
    PlanningPoint& point = points[i];
    point.number = static_cast<std::int64_t>(table.number("point", i).value_or(0));
    point.strategy = table.text("name", i);
    point.standing = standing_of(table, i);
    point.reason = table.text(point.standing == PointStanding::other_job ? "differences" : "reason", i);
    point.n_gpus = table.number("n_gpus", i);
    add_times(table, i, point);
    if (never_finishes(table, i)) {
      point.standing = PointStanding::failed;
      point.reason = kNeverFinishes;
      point.hours = point.gpu_days = point.money = std::nullopt;
    }
  }
  return points;
}

// The strategies of one scenario were compared when it was simulated; scenarios of other jobs are marked
// here. The first compared point has the job that was asked for.
void mark_other_jobs(const std::vector<PlanningColumn>& settings, std::vector<PlanningPoint>& points) {
  const auto first = std::ranges::find(points, PointStanding::compared, &PlanningPoint::standing);
  const auto asked = static_cast<std::size_t>(first - points.begin());
  for (std::size_t i = asked; i < points.size(); ++i) {
    if (points[i].standing != PointStanding::compared) continue;
    for (const PlanningColumn& setting : settings) {
      if (!decides_job(setting.key) || setting.values[i] == setting.values[asked]) continue;
      points[i].standing = PointStanding::other_job;
      points[i].reason = fmt::format("another {} than point {} has", setting.key, points[asked].number);
    }
  }
}

// The keys of the grid are the columns between the number of the point and its status.
std::vector<PlanningColumn> settings_of(const PointTable& table) {
  std::vector<std::string> keys;
  for (const std::string& name : table.names()) {
    if (name == "status") break;
    if (name != "point") keys.push_back(name);
  }
  const std::vector<std::string> titles = short_keys(keys);
  std::vector<PlanningColumn> settings;
  for (std::size_t k = 0; k < keys.size(); ++k)
    settings.push_back({.key = keys[k], .title = titles[k], .unit = "", .values = *table.column(keys[k])});
  return settings;
}

// The integer that the group with the longest packs has in a plan; nothing where the text is no such plan.
Value of_longest_packs(const std::string& plan, const char* key) {
  const Json json = Json::parse(plan, nullptr, false);
  if (!json.is_object() || !json.contains("groups") || !json["groups"].is_array() || json["groups"].empty())
    return {};
  const Json& group = json["groups"].back();
  if (!group.is_object() || !group.contains(key)) return {};
  const std::optional<std::int64_t> number = integer_of(group[key]);
  return number ? Value(*number) : Value();
}

PlanningColumn group_column(const PointTable& table, const char* key, const char* title, const char* of) {
  PlanningColumn column{.key = key, .title = title, .unit = "", .values = {}};
  for (std::size_t i = 0; i < table.n_points(); ++i)
    column.values.push_back(of_longest_packs(table.text("plan", i), of));
  return column;
}

struct ShownColumn {
  const char* name;
  const char* title;
  const char* unit;
  double scale = 1;
};

// What the page shows of a point beside its amounts. The database has more; a page of 10 000 points would
// grow by 70 KB with each.
constexpr std::array kShownColumns = {
    ShownColumn{"zero_stage", "ZeRO stage", ""},
    ShownColumn{"groups", "groups", ""},
    ShownColumn{"peak_memory_bytes", "peak memory", "GiB", 1 / kBytesPerGibibyte},
    ShownColumn{"gpu_memory_bytes", "GPU memory", "GiB", 1 / kBytesPerGibibyte},
    ShownColumn{"step_mean_s", "mean step time", "s"},
    ShownColumn{"step_p99_s", "99th percentile of step times", "s"},
    ShownColumn{"tokens_per_s_per_gpu", "tokens a second and GPU", "1/s"},
    ShownColumn{"mfu_fraction", "MFU", "%", 100},
    ShownColumn{"idle_fraction", "GPU time idle", "%", 100},
    ShownColumn{"abr", "ABR", ""},
    ShownColumn{"cr", "CR", ""},
    ShownColumn{"energy_kwh", "energy", "kWh"},
    ShownColumn{"expected_failures", "expected failures", ""},
    ShownColumn{"dropped_tokens", "dropped tokens", ""},
    ShownColumn{"truncated_tokens", "truncated tokens", ""},
    ShownColumn{"extrapolated_fraction", "extrapolated prices", "%", 100},
    ShownColumn{"unmeasured_fraction", "prices without measurement", "%", 100},
    ShownColumn{"warnings", "warnings", ""},
};

bool has_values(const std::vector<Value>& values) {
  return !std::ranges::all_of(
      values, [](const Value& value) { return std::holds_alternative<std::monostate>(value); });
}

std::vector<PlanningColumn> further_columns(const PointTable& table) {
  std::vector<PlanningColumn> further = {group_column(table, "@sp", "SP degree", "sp_degree"),
                                         group_column(table, "@gc", "GC layers", "gc_layers")};
  for (const ShownColumn& shown : kShownColumns) {
    const std::vector<Value>* values = table.column(shown.name);
    if (values == nullptr) continue;
    PlanningColumn column{
        .key = std::string("@") + shown.name, .title = shown.title, .unit = shown.unit, .values = *values};
    if (shown.scale != 1) {
      for (std::size_t i = 0; i < column.values.size(); ++i) {
        const auto number = table.number(shown.name, i);
        column.values[i] = number ? Value(*number * shown.scale) : Value();
      }
    }
    further.push_back(std::move(column));
  }
  std::erase_if(further, [](const PlanningColumn& column) { return !has_values(column.values); });
  return further;
}

std::string fact_of(SweepDatabase& database, const char* fact) {
  const auto rows = database.select(fmt::format("SELECT value FROM sweep WHERE fact = '{}'", fact));
  const auto* value = rows.empty() ? nullptr : std::get_if<std::string>(&rows.front().front());
  return value == nullptr ? std::string() : *value;
}

}  // namespace

PlanningData read_sweep_points(const std::string& path) {
  SweepDatabase database(path);
  const PointTable table(database, path);
  const std::string scenario = fact_of(database, "scenario");
  const std::string n_asked = fact_of(database, "points");
  PlanningData data{.title = scenario.empty() ? path : scenario,
                    .source = {},
                    .points = points_of(table),
                    .settings = settings_of(table),
                    .further = further_columns(table),
                    .question = {},
                    .changes = {}};
  mark_other_jobs(data.settings, data.points);
  const auto n_points = static_cast<std::int64_t>(data.points.size());
  data.source = fmt::format("A sweep of {} points", formats_detail::grouped(n_points));
  if (!n_asked.empty() && n_asked != fmt::format("{}", n_points))
    data.source += fmt::format(" out of the {} of its grid", n_asked);
  const std::string version = fact_of(database, kVersionFact);
  data.source += version.empty() ? "." : fmt::format(", by packsim {}.", version);
  return data;
}

}  // namespace packsim
