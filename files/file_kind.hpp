#pragma once

#include <sys/stat.h>

#include <string>

#include "files/file_error.hpp"

namespace packsim {

/// What stat() says a file is, in words.
inline std::string file_kind(mode_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// Throws UnusableFileError unless it is of a kind that can be used.
inline void refuse_unless(const std::string& path, mode_t mode, bool is_usable, const std::string& expected) {
  if (!is_usable) throw UnusableFileError(path, expected, file_kind(mode));
}

}  // namespace packsim
