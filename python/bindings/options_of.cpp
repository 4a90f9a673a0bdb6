#include "python/bindings/options_of.hpp"

#include <cstdint>
#include <string>

#include "packing/strategy.hpp"

namespace packsim::python {
namespace {

OptionValue value_of(const py::handle& given) {
  // A bool is an int to Python, so it is asked for first.
  if (py::isinstance<py::bool_>(given)) return given.cast<bool>();
  if (py::isinstance<py::int_>(given)) return given.cast<std::int64_t>();
  if (py::isinstance<py::float_>(given)) return given.cast<double>();
  return given.cast<std::string>();
}

}  // namespace

OptionValues options_of(const py::dict& given) {
  OptionValues options;
  for (const auto& [name, value] : given) options.set(name.cast<std::string>(), value_of(value));
  return options;
}

}  // namespace packsim::python
