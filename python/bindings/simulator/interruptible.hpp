#pragma once

#include <functional>
#include <string>

#include "python/bindings/simulator/bindings.hpp"

namespace packsim::python {

/// How work on a thread of its own says what it does. Throws where the caller wants it to end.
using Say = std::function<void(const std::string& what)>;

/// Runs work on a thread of its own and waits for it without Python's interpreter lock. What it says goes to
/// `progress`, a function or None, on the calling thread. Ctrl-C and exceptions of `progress` end the work at
/// the next thing that it says, and are raised then; what work throws is thrown.
void run_interruptibly(const py::object& progress, const std::function<void(const Say&)>& work);

}  // namespace packsim::python
