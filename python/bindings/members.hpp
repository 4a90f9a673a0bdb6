#pragma once

#include "python/bindings/bindings.hpp"

namespace packsim::python {

/// The members of a struct that PYBIND11_NUMPY_DTYPE knows, by name, as Python's own numbers.
template <typename T>
py::dict members_of(const T& value) {
  const py::array_t<T> one(1, &value);
  return py::module_::import("builtins").attr("zip")(one.dtype().attr("names"), one.attr("item")(0));
}

/// The struct that has them.
template <typename T>
T of_members(const py::dict& given) {
  py::array_t<T> one(1);
  py::list values;
  for (const py::handle name : one.dtype().attr("names")) values.append(given[name]);
  one[py::int_(0)] = py::tuple(values);
  return *one.data();
}

}  // namespace packsim::python
