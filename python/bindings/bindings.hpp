#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

/// The module packsim._core: the packing core, with arguments that the Python package has checked. It is no
/// interface for users; python/packsim/_core.pyi says what is in it.
namespace packsim::python {

namespace py = pybind11;

inline py::str text(std::string_view view) {
  return py::str(view.data(), view.size());
}

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
