#include "reports/tables/typed_columns.hpp"

#include <cmath>
#include <stdexcept>
#include <variant>

#include "reports/tables/shown_groups.hpp"

namespace packsim {
namespace {

Value finite(Value value) {
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr && !std::isfinite(*number) ? Value() : value;
}

}  // namespace

std::vector<TypedColumn> typed_columns(const Report& report) {
  std::vector<TypedColumn> columns;
  for (const RunValue& row : run_values()) {
    if (row.key.empty()) continue;
    TypedColumn& column = columns.emplace_back(TypedColumn{row.key, type_of(row), {}});
    for (const StrategyResult& run : report.runs) column.values.push_back(finite(row.value(run)));
  }
  TypedColumn& groups = columns.emplace_back(TypedColumn{"groups", ValueType::text, {}});
  for (const StrategyResult& run : report.runs) groups.values.emplace_back(groups_text(run.plan, run.groups));
  return columns;
}

namespace {

// A run that has everything that a run may have.
StrategyResult whole_run() {
  StrategyResult run;
  run.failure = "";
  run.differences = {""};
  run.balance.emplace();
  RunTimes& times = run.times.emplace();
  times.gpu_days_low = 1;
  times.gpu_days_high = 1;
  times.largest_uncertainty = "";
  times.gpu_days_without_variability = 0;
  times.utilisation.mfu_fraction = 0;
  times.utilisation.hfu_fraction = 0;
  run.speedup.emplace();
  run.bound.emplace().above_fraction = 0;
  run.repacking.emplace();
  run.reordering.emplace();
  run.mixture.emplace().probes.emplace_back();
  run.planning.emplace();
  run.whole.emplace();
  run.failures.emplace().losses = FailureCost::Losses{};
  RunCost& cost = run.cost.emplace();
  for (std::optional<double> RunCost::*member : {&RunCost::money, &RunCost::money_low, &RunCost::money_high,
                                                 &RunCost::money_with_failures, &RunCost::energy_kwh})
    cost.*member = 0;
  return run;
}

}  // namespace

ValueType type_of(const RunValue& value) {
  static const StrategyResult kWhole = whole_run();
  const Value found = value.value(kWhole);
  if (std::holds_alternative<bool>(found)) return ValueType::boolean;
  if (std::holds_alternative<std::int64_t>(found)) return ValueType::integer;
  if (std::holds_alternative<double>(found)) return ValueType::number;
  if (std::holds_alternative<std::string>(found)) return ValueType::text;
  throw std::logic_error("type_of: whole_run() lacks what " + value.key + " is read from");
}

}  // namespace packsim
