#pragma once

#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "reports/tables/run_values.hpp"

namespace packsim {

/// The type of a value, whatever run it is of.
enum class ValueType { boolean, integer, number, text };

/// value: one of run_values() that has a key.
ValueType type_of(const RunValue& value);

/// A value of every run, for programs.
struct TypedColumn {
  std::string key;
  ValueType type = ValueType::text;
  /// [n_runs] of this type; std::monostate where the run has no such value, or one that is not finite.
  std::vector<Value> values;
};

/// The columns of report.csv, one row per run: what run_values() has, and the groups of packs. Types depend
/// on the column alone, not on the report.
std::vector<TypedColumn> typed_columns(const Report& report);

}  // namespace packsim
