#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

/// The module packsim._simulator: scenarios, runs and reports, with arguments that the Python package has
/// checked. It is no interface for users; python/packsim/_simulator.pyi says what is in it.
namespace packsim::python {

namespace py = pybind11;

/// Exceptions of the libraries as those of Python: ScenarioError as the package's, the system's refusals as
/// OSError.
void add_errors();

/// read_scenario(), and the class of scenarios.
void add_scenario(py::module_& module);

/// compare() and schedule_file().
void add_runs(py::module_& module);

/// recommend().
void add_recommendation(py::module_& module);

/// read_grid(), and the classes of grids and of their databases.
void add_sweep(py::module_& module);

/// The class of reports, which makes every format.
void add_report(py::module_& module);

}  // namespace packsim::python
