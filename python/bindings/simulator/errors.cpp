#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "files/text/printable.hpp"
#include "python/bindings/simulator/bindings.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim::python {
namespace {

void raise_scenario_error(const ScenarioError& error) {
  py::list messages;
  for (const std::string& message : error.messages()) messages.append(printable(message));
  const py::object type = py::module_::import("packsim.simulator.errors").attr("ScenarioError");
  PyErr_SetObject(type.ptr(), type(py::tuple(messages)).ptr());
}

void raise_os_error(const std::system_error& error) {
  const py::tuple arguments = py::make_tuple(error.code().value(), error.what());
  PyErr_SetObject(PyExc_OSError, arguments.ptr());
}

}  // namespace

void add_errors() {
  py::register_local_exception_translator([](std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const ScenarioError& error) {
      raise_scenario_error(error);
    } catch (const std::system_error& error) {
      raise_os_error(error);
    }
  });
}

}  // namespace packsim::python
