#pragma once

#include <string>
#include <string_view>
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

/// What a program that was run to its end has written.
struct ChildOutput {
  int exit_code = 0;  ///< 128 + n for an end by signal n
  std::string out;
  std::string err;
};

/// Runs a program, by its path, with these arguments and this text as its standard input, and waits as
/// run_and_wait() does. No shell is involved. Throws std::runtime_error with the system's text where it
/// cannot be started.
ChildOutput run_with_input(const std::string& program, const std::vector<std::string>& arguments,
                           std::string_view input);

/// The first of the given paths that is a program that can be run; empty where none is.
std::string first_program(const std::vector<std::string>& paths);

/// The paths of a program of this name in the folders of $PATH.
std::vector<std::string> places_on_path(const std::string& name);

}  // namespace packsim
