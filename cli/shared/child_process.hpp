#pragma once

#include <string>
#include <vector>

namespace packsim {

/// Thrown by a command that ends with the exit code of a program that it ran.
struct ExitCode {
  int code = 0;
};

/// Runs a command line with /bin/sh, its streams being ours, and waits. Ctrl-C reaches the program, which
/// ends in its own way; this process goes on waiting for it. Returns the exit code, 128 + n for an end by
/// signal n. Throws std::runtime_error with the system's text where it cannot be started.
int run_and_wait(const std::string& command_line);

/// The first of the given paths that is a program that can be run; empty where none is.
std::string first_program(const std::vector<std::string>& paths);

}  // namespace packsim
