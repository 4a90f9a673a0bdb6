#pragma once

#include <functional>
#include <string>

#include "python/bindings/simulator/bindings.hpp"

namespace packsim::python {

/// The arguments of one call of `progress`, which are made with Python's interpreter lock.
using Told = std::function<py::tuple()>;

/// How work on a thread of its own calls `progress`, or with an empty Told only asks whether to go on. Throws
/// what is no std::exception where the caller wants it to end.
using Tell = std::function<void(Told)>;

/// Runs work on a thread of its own and waits for it without Python's interpreter lock. What it tells goes to
/// `progress`, a function or None, on the calling thread. Ctrl-C and exceptions of `progress` end the work at
/// the next thing that it tells, and are raised then; what work throws is thrown.
void run_telling(const py::object& progress, const std::function<void(const Tell&)>& work);

/// How work says what it does. Throws where the caller wants it to end.
using Say = std::function<void(const std::string& what)>;

/// run_telling(), where `progress` is called with texts.
void run_interruptibly(const py::object& progress, const std::function<void(const Say&)>& work);

}  // namespace packsim::python
