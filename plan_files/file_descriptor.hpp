#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace packsim {

[[noreturn]] inline void throw_system_error(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

/// An open file; closes it.
class FileDescriptor {
 public:
  /// descriptor: what open() returned. Throws std::system_error with the path where that is -1.
  FileDescriptor(int descriptor, const std::string& path) : descriptor_(descriptor) {
    if (descriptor_ < 0) throw_system_error(path);
  }
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return descriptor_; }
  /// Closes it now; 0 where that went well.
  int close() { return ::close(std::exchange(descriptor_, -1)); }

 private:
  int descriptor_;
};

}  // namespace packsim
