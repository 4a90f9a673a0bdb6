#include "files/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "files/file_descriptor.hpp"
#include "files/file_error.hpp"
#include "files/file_kind.hpp"
#include "files/inputs.hpp"

namespace packsim {
namespace {

// Pipes have no size to ask for, so the buffer doubles until the end shows.
constexpr std::size_t kFirstBlockBytes = std::size_t{1} << 16;

[[noreturn]] void refuse_size(const std::string& path, std::int64_t most_bytes, const std::string& got) {
  throw UnusableFileError(path, "at most " + std::to_string(most_bytes) + " bytes", got);
}

}  // namespace

std::string read_file(const std::string& path, std::int64_t most_bytes) {
  struct stat status = {};
  // Asked before it is opened: opening a device may do something.
  if (::stat(path.c_str(), &status) != 0) throw FileError(path, errno);
  refuse_unless(path, status.st_mode, S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode),
                "a file or a pipe");
  const bool is_regular = S_ISREG(status.st_mode);
  if (is_regular && status.st_size > most_bytes)
    refuse_size(path, most_bytes, std::to_string(status.st_size));
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) throw FileError(path, errno);
  keep_input(status);

  // One byte more than the file has, so that its end shows in the same call.
  const auto expected = is_regular ? static_cast<std::size_t>(status.st_size) + 1 : kFirstBlockBytes;
  std::string bytes(expected, '\0');
  std::size_t n = 0;
  while (true) {
    if (n == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t n_read = ::read(file.get(), bytes.data() + n, bytes.size() - n);
    if (n_read < 0 && errno == EINTR) continue;
    if (n_read < 0) throw FileError(path, errno);
    if (n_read == 0) break;
    n += static_cast<std::size_t>(n_read);
    if (n > static_cast<std::size_t>(most_bytes)) refuse_size(path, most_bytes, "more");
  }
  bytes.resize(n);
  return bytes;
}

}  // namespace packsim
