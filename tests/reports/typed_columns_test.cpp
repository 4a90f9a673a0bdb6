#include "reports/tables/typed_columns.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <map>

#include "example_report.hpp"

using namespace packsim;

namespace {

std::map<std::string, TypedColumn> by_key(const Report& report) {
  std::map<std::string, TypedColumn> columns;
  for (const TypedColumn& column : typed_columns(report)) columns[column.key] = column;
  return columns;
}

bool is_of(ValueType type, const Value& value) {
  switch (type) {
    case ValueType::boolean:
      return std::holds_alternative<bool>(value);
    case ValueType::integer:
      return std::holds_alternative<std::int64_t>(value);
    case ValueType::number:
      return std::holds_alternative<double>(value);
    case ValueType::text:
      return std::holds_alternative<std::string>(value);
  }
  return false;
}

}  // namespace

// Every key: typed_columns() throws for one whose value a run with everything does not have.
TEST_CASE("a column has its type in every report, also where no run has the value") {
  Report misfits = example_report();
  misfits.runs = {example_misfit("too big")};
  const auto columns = by_key(misfits);
  const auto priced = by_key(priced_report());
  REQUIRE(columns.size() == priced.size());
  for (const auto& [key, column] : priced) {
    CAPTURE(key);
    CHECK(columns.at(key).type == column.type);
    for (const Value& value : column.values)
      CHECK((std::holds_alternative<std::monostate>(value) || is_of(column.type, value)));
  }
  CHECK(columns.at("gpu_days").type == ValueType::number);
  CHECK(columns.at("gpu_days").values == std::vector<Value>{Value()});
  CHECK(columns.at("failure").type == ValueType::text);
  CHECK(columns.at("new_packs").type == ValueType::integer);
  CHECK(columns.at("feasible").values == std::vector<Value>{Value(false)});
}

TEST_CASE("a number that is not finite is none") {
  Report report = example_report();
  report.runs[0].failures.emplace().gpu_days = std::numeric_limits<double>::infinity();
  CHECK(by_key(report).at("gpu_days_with_failures").values == std::vector<Value>{Value(), Value()});
}

TEST_CASE("the last column has the groups") {
  const std::vector<TypedColumn> columns = typed_columns(example_report());
  CHECK(columns.back().key == "groups");
  CHECK(columns.back().values.front() == Value(std::string("131072 tokens, SP 8, GC 32")));
}
