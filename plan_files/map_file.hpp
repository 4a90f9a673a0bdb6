#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace packsim {

/// A file mapped into memory, to read.
class MappedFile {
 public:
  /// Throws FileError.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace packsim
