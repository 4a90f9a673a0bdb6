#pragma once

#include <sys/types.h>

#include <filesystem>

#include "files/file_descriptor.hpp"

namespace packsim {

/// A new file beside `target` that no other writer has, open for writing: ".NAME.0123456789abcdef.partial".
/// It is locked while its writer lives, which tells it from what a killed writer left. Removed unless it was
/// renamed.
class TemporaryFile {
 public:
  /// Throws FileError with `target`.
  explicit TemporaryFile(const std::filesystem::path& target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return file_.get(); }
  /// Puts it in the place of the target. Returns 0, or the system's error number.
  int move_to_target();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
  FileDescriptor file_;
  bool is_moved_ = false;
};

/// Removes the temporary files of writers of `target` that were killed.
void remove_leftovers(const std::filesystem::path& target);

}  // namespace packsim
