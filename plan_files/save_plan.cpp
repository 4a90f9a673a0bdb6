#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "plan_files/file_descriptor.hpp"
#include "plan_files/plan_view.hpp"

namespace packsim {
namespace {

void write_all(int file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_system_error(path);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

// That no other writer of this path has.
std::string temporary_path(const std::string& path) {
  static std::atomic<int> n_written = 0;
  return path + "." + std::to_string(::getpid()) + "." + std::to_string(n_written++) + ".part";
}

}  // namespace

void save_plan(std::span<const std::byte> bytes, const std::string& path) {
  const std::string temporary = temporary_path(path);
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), path);
  try {
    write_all(file.get(), bytes, path);
    if (::fsync(file.get()) != 0 || file.close() != 0) throw_system_error(path);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) throw_system_error(path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace packsim
