#include "sweep/point_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "reports/formats/plan_search_json.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/shown_groups.hpp"
#include "reports/tables/typed_columns.hpp"
#include "scenarios/loader/json/json_document.hpp"

namespace packsim {
namespace {

const char* sql_type(ValueType type) {
  switch (type) {
    case ValueType::boolean:
    case ValueType::integer:
      return "INTEGER";
    case ValueType::number:
      return "REAL";
    case ValueType::text:
      break;
  }
  return "TEXT";
}

// A value of the grid: scalars as they are, lists and objects as JSON.
Value varied_value(const std::string& text) {
  Problems not_json;
  const std::optional<Json> value = parse_json("", text, not_json);
  if (!value || not_json.size() > 0) return text;  // a bare word
  if (value->is_boolean()) return value->get<bool>();
  if (const auto integer = integer_of(*value)) return *integer;
  if (value->is_number()) return value->get<double>();
  if (value->is_string()) return value->get<std::string>();
  return text;
}

const char* sql_type(const VariedKey& varied) {
  std::vector<std::size_t> kinds;
  for (const std::string& text : varied.values) kinds.push_back(varied_value(text).index());
  const auto all = [&](auto... of) {
    return std::ranges::all_of(kinds, [&](std::size_t kind) { return ((kind == of) || ...); });
  };
  constexpr std::size_t kBoolean = 1;
  constexpr std::size_t kInteger = 2;
  constexpr std::size_t kNumber = 3;
  if (all(kBoolean, kInteger)) return "INTEGER";
  return all(kInteger, kNumber) ? "REAL" : "TEXT";
}

struct FactColumn {
  PointColumn column;
  std::function<Value(const Report&, const StrategyResult&)> value;
};

double most_memory_bytes(const StrategyResult& run, double PlannedGroup::*member) {
  double most = 0;
  for (const PlannedGroup& group : run.groups) most = std::max(most, group.*member);
  return most;
}

Value joined(const std::vector<std::string>& texts) {
  return texts.empty() ? Value() : Value(fmt::format("{}", fmt::join(texts, "; ")));
}

// What report.csv does not say of a run, as all of its rows have it in common, or report.json has it in
// lists.
const std::vector<FactColumn>& fact_columns() {
  static const std::vector<FactColumn> kColumns = {
      {{"n_gpus", "INTEGER"},
       [](const Report& report, const StrategyResult&) {
         return Value(std::int64_t{report.manifest.n_gpus});
       }},
      {{"zero_stage", "INTEGER"},
       [](const Report&, const StrategyResult& run) {
         return run.groups.empty() ? Value() : Value(std::int64_t{run.groups.front().zero_stage});
       }},
      {{"groups", "TEXT"},
       [](const Report&, const StrategyResult& run) {
         return run.groups.empty() ? Value() : Value(groups_text(run.plan, run.groups));
       }},
      {{"plan", "TEXT"},
       [](const Report&, const StrategyResult& run) {
         return run.groups.empty() ? Value() : Value(run_plan_json(run.plan, run.groups).dump());
       }},
      {{"peak_memory_bytes", "REAL"},
       [](const Report&, const StrategyResult& run) {
         return run.groups.empty() ? Value()
                                   : Value(most_memory_bytes(run, &PlannedGroup::peak_memory_bytes));
       }},
      {{"gpu_memory_bytes", "REAL"},
       [](const Report&, const StrategyResult& run) {
         return run.groups.empty() ? Value() : Value(most_memory_bytes(run, &PlannedGroup::gpu_memory_bytes));
       }},
      {{"warnings", "TEXT"},
       [](const Report& report, const StrategyResult&) { return joined(report.manifest.warnings); }},
  };
  return kColumns;
}

void add_varied(const Grid& grid, std::size_t point, PointRow& row) {
  const std::vector<std::string> keys = varied_keys(grid);
  const std::vector<std::string> values = values_at(grid, point);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (keys[k] != kStrategyKey) row.values.push_back(varied_value(values[k]));
  }
}

std::pair<std::string, Value> status_of(const StrategyResult& run) {
  if (run.failure) return {kFailed, *run.failure};
  if (!run.feasible) return {kDoesNotFit, formats_detail::memory_excess(run)};
  return {kSimulated, Value()};
}

}  // namespace

std::vector<PointColumn> point_columns(const Grid& grid) {
  std::vector<PointColumn> columns;
  for (const GridAxis& axis : grid.axes) {
    for (const VariedKey& varied : axis) {
      if (varied.key != kStrategyKey) columns.push_back({varied.key, sql_type(varied)});
    }
  }
  columns.push_back({"status", "TEXT NOT NULL"});
  columns.push_back({"reason", "TEXT"});
  for (const FactColumn& fact : fact_columns()) columns.push_back(fact.column);
  for (const RunValue& value : run_values()) {
    if (!value.key.empty()) columns.push_back({value.key, sql_type(type_of(value))});
  }
  return columns;
}

PointRow simulated_row(const Grid& grid, std::size_t point, const Report& report, const StrategyResult& run) {
  PointRow row{.point = point, .values = {}};
  add_varied(grid, point, row);
  auto [status, reason] = status_of(run);
  row.values.emplace_back(std::move(status));
  row.values.push_back(std::move(reason));
  for (const FactColumn& fact : fact_columns()) row.values.push_back(fact.value(report, run));
  for (const RunValue& value : run_values()) {
    if (!value.key.empty()) row.values.push_back(value.value(run));
  }
  return row;
}

PointRow row_without_run(const Grid& grid, const JobPoint& point, const char* status,
                         const std::string& reason) {
  PointRow row{.point = point.point, .values = {}};
  add_varied(grid, point.point, row);
  row.values.emplace_back(std::string(status));
  row.values.emplace_back(reason);
  row.values.resize(row.values.size() + fact_columns().size());
  for (const RunValue& value : run_values()) {
    if (!value.key.empty()) row.values.push_back(value.key == "name" ? Value(point.strategy) : Value());
  }
  return row;
}

}  // namespace packsim
