#include "experiment/results/report.hpp"

#include <string>
#include <string_view>

#include "python/bindings/simulator/bindings.hpp"
#include "reports/charts/charts_json.hpp"
#include "reports/formats/formats.hpp"
#include "reports/tables/typed_columns.hpp"

namespace packsim::python {
namespace {

std::string_view name_of(ValueType type) {
  switch (type) {
    case ValueType::boolean:
      return "bool";
    case ValueType::integer:
      return "int";
    case ValueType::number:
      return "float";
    case ValueType::text:
      break;
  }
  return "str";
}

// (key, type, values) of each column, None for what a run does not have.
py::list columns(const Report& report) {
  py::list columns;
  for (const TypedColumn& column : typed_columns(report))
    columns.append(py::make_tuple(column.key, name_of(column.type), column.values));
  return columns;
}

}  // namespace

void add_report(py::module_& module) {
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  py::class_<Report>(module, "Report")
      .def("to_json", to_json, Unlocked())
      .def("charts_json", to_charts_json, Unlocked())
      .def("notebook_html", to_notebook_html, Unlocked())
      .def("save", write_report, Unlocked())
      .def("columns", columns);
}

}  // namespace packsim::python
