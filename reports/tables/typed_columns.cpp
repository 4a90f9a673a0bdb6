#include "reports/tables/typed_columns.hpp"

#include <cmath>
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
  for (const StrategyResult& run : report.runs) groups.values.emplace_back(group_summary(run));
  return columns;
}

}  // namespace packsim
