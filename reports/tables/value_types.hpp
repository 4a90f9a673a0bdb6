#pragma once

#include "reports/tables/run_values.hpp"

namespace packsim {

/// The type of a value, whatever run it is of.
enum class ValueType { boolean, integer, number, text };

/// value: one of run_values() that has a key.
ValueType type_of(const RunValue& value);

}  // namespace packsim
