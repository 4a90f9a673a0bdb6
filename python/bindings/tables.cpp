#include <pybind11/stl.h>  // variants

#include "packing/policies/policies.hpp"
#include "packing/strategy.hpp"
#include "python/bindings/bindings.hpp"

namespace packsim::python {
namespace {

py::tuple texts(std::span<const std::string_view> names) {
  py::tuple result(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) result[i] = text(names[i]);
  return result;
}

const char* kind_of(const Option& option) {
  switch (option.type) {
    case OptionType::boolean:
      return "boolean";
    case OptionType::integer:
      return "integer";
    case OptionType::number:
      return "seconds";
    case OptionType::word:
      break;
  }
  return "word";
}

py::dict row_of(const Option& option) {
  py::dict row;
  row["name"] = text(option.name);
  row["text"] = text(option.text);
  row["kind"] = kind_of(option);
  row["default"] = default_value(option);
  row["low"] = option.least;
  row["high"] = option.most;
  row["is_optional"] = option.is_optional;
  row["words"] = option.words == nullptr ? py::tuple() : texts(option.words());
  return row;
}

py::tuple rows_of(std::span<const Option* const> options) {
  py::tuple rows(options.size());
  for (std::size_t i = 0; i < options.size(); ++i) rows[i] = row_of(*options[i]);
  return rows;
}

py::dict row_of(const Strategy& strategy) {
  py::dict row;
  row["name"] = text(strategy.name);
  row["summary"] = text(strategy.summary);
  row["complexity"] = text(strategy.complexity);
  row["source"] = text(strategy.source);
  row["layout"] = strategy.layout == Layout::rows ? "rows" : "packed";
  row["options"] = rows_of(strategy.options);
  row["default_order"] = text(policy_name(kPackOrderNames, strategy.default_order));
  row["default_padding"] = text(policy_name(kPaddingNames, strategy.default_padding()));
  row["default_window_samples"] = strategy.default_window_samples;
  row["cuts_samples"] = strategy.cuts_samples;
  row["several_capacities"] = strategy.pack_groups != nullptr || strategy.mixes_groups;
  row["forms_iterations"] = strategy.forms_iterations();
  row["needs_prices"] = strategy.needs_prices;
  return row;
}

}  // namespace

void add_tables(py::module_& module) {
  module.def("strategies", [] {
    py::list rows;
    for (const Strategy& strategy : strategies()) rows.append(row_of(strategy));
    return rows;
  });
  module.def("options", [] { return py::list(rows_of(all_options())); });
}

}  // namespace packsim::python
