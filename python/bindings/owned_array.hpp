#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "python/bindings/bindings.hpp"

namespace packsim::python {

/// An array that owns what was in `values`. Nobody may write to it.
template <typename T>
py::array_t<T> owned_array(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const py::capsule owner(owned.get(), [](void* p) { delete static_cast<std::vector<T>*>(p); });
  const std::vector<T>& all = *owned.release();  // the capsule deletes it
  py::array_t<T> array(static_cast<py::ssize_t>(all.size()), all.data(), owner);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

}  // namespace packsim::python
