#pragma once

#include <span>
#include <vector>

#include "python/bindings/bindings.hpp"

namespace packsim::python {

/// A view of memory of `owner`, which lives as long as the view. Nobody may write through it.
template <typename T>
py::array_t<T> view_of(std::span<const T> values, const py::object& owner) {
  py::array_t<T> view(static_cast<py::ssize_t>(values.size()), values.data(), owner);
  view.attr("setflags")(py::arg("write") = false);
  return view;
}

template <typename T>
py::array_t<T> view_of(const std::vector<T>& values, const py::object& owner) {
  return view_of(std::span<const T>(values), owner);
}

}  // namespace packsim::python
