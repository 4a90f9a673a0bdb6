#pragma once

#include <string>
#include <vector>

#include "models/kernels/kernel_case.hpp"

namespace packsim::microbench {

/// The cases of the plan files, each once, in the order in which they are first named. A line is a case;
/// '#' starts a comment. Throws UserError with every bad line as path:line, and std::runtime_error with the
/// path and the system's words where a file cannot be read.
std::vector<KernelCase> read_plans(const std::vector<std::string>& paths);

}  // namespace packsim::microbench
