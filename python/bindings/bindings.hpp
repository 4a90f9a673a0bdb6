#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

/// The module packsim._core: the packing core, with arguments that the Python package has checked. It is no
/// interface for users; python/packsim/_core.pyi says what is in it.
namespace packsim::python {

namespace py = pybind11;

inline py::str text(std::string_view view) {
  return py::str(view.data(), view.size());
}

/// What the package gives: an array without gaps.
template <typename T>
using Array = py::array_t<T, py::array::c_style>;

template <typename T>
std::span<const T> span_of(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

/// A value. Calls from several threads wait for each other, as they run without the interpreter's lock.
template <typename T>
struct Alone {
  std::mutex mutex;
  T value;

  explicit Alone(T given) : value(std::move(given)) {}

  /// What `call`, a function of the value or a member of it, returns.
  template <typename Call>
  auto with(const Call& call) {
    const py::gil_scoped_release others_may_run;
    const std::scoped_lock lock(mutex);
    return std::invoke(call, value);
  }
};

/// strategies() and options(): the tables of the core, a dict a row.
void add_tables(py::module_& module);

/// to_int32(): lengths of other types than pack() takes.
void add_lengths(py::module_& module);

/// pack() and the class of its results, whose arrays are views of C++ memory that keep it alive.
void add_packing(py::module_& module);

/// check_loss_spans() and loss_tokens_of_items(): which tokens of cut samples have loss.
void add_loss_spans(py::module_& module);

/// balance() and the class of its results.
void add_balance(py::module_& module);

/// The class that packs a stream, and the defaults of its setting.
void add_stream_packer(py::module_& module);

/// mixing_policies(), quantile_groups() and the class of mixtures.
void add_mixing(py::module_& module);

/// make_plan() and the class of plans, made, mapped or in memory.
void add_plan(py::module_& module);

}  // namespace packsim::python
