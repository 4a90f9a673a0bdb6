#include "reports/tables/typed_columns.hpp"

#include <catch2/catch.hpp>

using namespace packsim;

TEST_CASE("every value that programs read has a type, and a run without it has none or that type") {
  const StrategyResult bare;
  for (const RunValue& value : run_values()) {
    if (value.key.empty()) continue;
    CAPTURE(value.key);
    const ValueType type = type_of(value);
    const Value of_bare = value.value(bare);
    if (std::holds_alternative<std::monostate>(of_bare)) continue;
    CHECK(std::holds_alternative<bool>(of_bare) == (type == ValueType::boolean));
    CHECK(std::holds_alternative<std::int64_t>(of_bare) == (type == ValueType::integer));
    CHECK(std::holds_alternative<double>(of_bare) == (type == ValueType::number));
    CHECK(std::holds_alternative<std::string>(of_bare) == (type == ValueType::text));
  }
}
