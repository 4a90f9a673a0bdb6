#include <algorithm>
#include <type_traits>
#include <variant>

#include "packing/option_table.hpp"
#include "packing/policies.hpp"
#include "python/bindings/bindings.hpp"

namespace packsim::python {
namespace {

py::tuple texts(std::span<const std::string_view> names) {
  py::tuple result(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) result[i] = text(names[i]);
  return result;
}

py::dict row_of(const Strategy& strategy) {
  py::dict row;
  row["name"] = text(strategy.name);
  row["summary"] = text(strategy.summary);
  row["complexity"] = text(strategy.complexity);
  row["source"] = text(strategy.source);
  row["layout"] = strategy.layout == Layout::rows ? "rows" : "packed";
  row["options"] = texts(strategy.options);
  row["default_order"] = text(policy_name(kPackOrderNames, strategy.default_order));
  row["default_window_samples"] = strategy.default_window_samples;
  row["cuts_samples"] = strategy.cuts_samples;
  row["several_capacities"] = strategy.pack_groups != nullptr || strategy.mixes_groups;
  row["forms_iterations"] = strategy.plan_batches != nullptr;
  // A strategy that reads "costs" plans by them, with a solver that is not of the core.
  row["needs_prices"] =
      strategy.chooses_groups || std::ranges::find(strategy.options, "costs") != strategy.options.end();
  return row;
}

template <typename Value>
constexpr const char* kind_of() {
  if constexpr (std::is_same_v<Value, bool>) return "boolean";
  if constexpr (std::is_same_v<Value, double>) return "seconds";
  if constexpr (std::is_same_v<Value, std::string_view>) return "word";
  return "integer";
}

py::dict row_of(const OptionRow& option) {
  const StrategyOptions defaults;
  py::dict row;
  row["name"] = text(option.name);
  std::visit(
      [&](auto member) {
        const auto& value = defaults.*member;
        row["kind"] = kind_of<std::remove_cvref_t<decltype(value)>>();
        row["default"] = value;
      },
      option.member);
  row["low"] = option.low;
  row["high"] = option.high;
  row["words"] = option.words == nullptr ? py::tuple() : texts(option.words());
  return row;
}

template <typename Row>
py::list rows_of(std::span<const Row> table) {
  py::list rows;
  for (const Row& row : table) rows.append(row_of(row));
  return rows;
}

}  // namespace

void add_tables(py::module_& module) {
  module.def("strategies", [] { return rows_of(strategies()); });
  module.def("options", [] { return rows_of(option_rows()); });
}

}  // namespace packsim::python
