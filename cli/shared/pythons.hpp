#pragma once

#include <string>
#include <vector>

namespace packsim {

/// The Python interpreters that may have what a command needs, the first one to try first. given: the one
/// that an option says, which is then the only one. If empty, $PACKSIM_PYTHON alone; and if that is not set,
/// the Python beside this program (in a wheel's environment), .venv and .venv-python in the source tree
/// (`make deps`, `make python`), and python3 on PATH, as far as they are there.
///
/// Throws std::invalid_argument where `given` or $PACKSIM_PYTHON is no program.
std::vector<std::string> python_interpreters(const std::string& given);

/// Whether $PACKSIM_PYTHON says which one.
bool is_python_set();

}  // namespace packsim
