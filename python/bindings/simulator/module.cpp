#include "python/bindings/simulator/bindings.hpp"

PYBIND11_MODULE(_simulator, module) {
  packsim::python::add_errors();
  packsim::python::add_scenario(module);
  packsim::python::add_report(module);
  packsim::python::add_runs(module);
  packsim::python::add_recommendation(module);
  packsim::python::add_sweep(module);
}
