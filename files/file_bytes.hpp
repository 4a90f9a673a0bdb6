#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "files/file_descriptor.hpp"

namespace packsim {

/// A regular file that is open to be read.
class RegularFile {
 public:
  /// Throws FileError, and UnusableFileError for a folder, a pipe, a socket or a device, without waiting for
  /// whoever writes it.
  explicit RegularFile(const std::string& path);

  const std::string& path() const { return path_; }
  int descriptor() const { return file_.get(); }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// The first bytes, as many as fit in `into` or the file has.
  std::span<const std::byte> read_start(std::span<std::byte> into) const;
  /// Throws std::runtime_error if the file has not the size that it was opened with.
  void expect_same_size() const;

 private:
  std::string path_;
  FileDescriptor file_;
  std::uint64_t size_bytes_ = 0;
};

/// The bytes of a file: read into memory up to kMapFrom_bytes, mapped from there on.
///
/// What was read stays as it is, whatever becomes of the file. A mapped file is shared between processes and
/// costs no copy, but it must not be changed: who touches a page that somebody has cut off the file gets the
/// signal SIGBUS.
class FileBytes {
 public:
  static constexpr std::uint64_t kMapFrom_bytes = std::uint64_t{64} << 20;

  /// Throws FileError, and std::runtime_error where the file became shorter meanwhile.
  explicit FileBytes(const RegularFile& file, std::uint64_t map_from_bytes = kMapFrom_bytes);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> read_;  // null: mapped
  std::span<const std::byte> bytes_;
};

}  // namespace packsim
