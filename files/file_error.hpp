#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace packsim {

/// A file that the machine will not open, read or write: what() is "PATH: cannot write: No space left on
/// device", code() the system's number.
class FileError : public std::system_error {
 public:
  /// action: "cannot write", or empty.
  FileError(const std::string& path, int error_number, const std::string& action = {})
      : std::system_error(error_number, std::generic_category(),
                          action.empty() ? path : path + ": " + action) {}
};

/// A file that is there but is no input for us, as a directory or one that is too large: the user's mistake.
class UnusableFileError : public std::invalid_argument {
 public:
  UnusableFileError(const std::string& path, const std::string& expected, const std::string& got)
      : std::invalid_argument(path + ": expected " + expected + ", got " + got) {}
};

}  // namespace packsim
