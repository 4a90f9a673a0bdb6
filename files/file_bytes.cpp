#include "files/file_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "files/file_error.hpp"
#include "files/file_kind.hpp"
#include "files/inputs.hpp"

namespace packsim {
namespace {

struct stat status_of(int descriptor, const std::string& path) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) throw FileError(path, errno);
  return status;
}

std::uint64_t size_of(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_size);
}

// Reads as many bytes from the start of the file as there are, at most those of `into`.
std::size_t read_from_start(const RegularFile& file, std::span<std::byte> into) {
  std::size_t n_read = 0;
  while (n_read < into.size()) {
    const ssize_t n =
        ::pread(file.descriptor(), into.data() + n_read, into.size() - n_read, static_cast<off_t>(n_read));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw FileError(file.path(), errno);
    if (n == 0) break;
    n_read += static_cast<std::size_t>(n);
  }
  return n_read;
}

}  // namespace

// Opening a pipe without O_NONBLOCK would wait for its writer.
RegularFile::RegularFile(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (!file_.is_open()) throw FileError(path, errno);
  const struct stat status = status_of(file_.get(), path);
  refuse_unless(path, status.st_mode, S_ISREG(status.st_mode), "a regular file");
  keep_input(status);
  size_bytes_ = size_of(status);
}

std::span<const std::byte> RegularFile::read_start(std::span<std::byte> into) const {
  return into.first(read_from_start(*this, into));
}

void RegularFile::expect_same_size() const {
  const std::uint64_t now_bytes = size_of(status_of(file_.get(), path_));
  if (now_bytes == size_bytes_) return;
  throw std::runtime_error(path_ + ": expected " + std::to_string(size_bytes_) +
                           " bytes, as when it was opened, got " + std::to_string(now_bytes) +
                           ": somebody writes into the file");
}

FileBytes::FileBytes(const RegularFile& file, std::uint64_t map_from_bytes) {
  const std::uint64_t n = file.size_bytes();
  if (n < map_from_bytes) {
    read_ = std::make_unique_for_overwrite<std::byte[]>(n);
    bytes_ = {read_.get(), read_from_start(file, {read_.get(), n})};
    file.expect_same_size();
    return;
  }
  // Every byte is read at once, for its hash.
  void* const start = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.descriptor(), 0);
  if (start == MAP_FAILED) throw FileError(file.path(), errno);
  bytes_ = {static_cast<const std::byte*>(start), n};
}

FileBytes::~FileBytes() {
  if (read_ == nullptr) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace packsim
