#include "files/write_file.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "files/file_descriptor.hpp"
#include "files/file_error.hpp"
#include "files/inputs.hpp"
#include "files/temporary_file.hpp"
#include "files/write_all.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error_number) {
  throw FileError(path, error_number, "cannot write");
}

void throw_if(int error_number, const std::string& path) {
  if (error_number != 0) fail(path, error_number);
}

// The number of an open descriptor that a path names.
std::optional<int> named_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = 0;
    const char* const end = path.data() + path.size();
    const auto parsed = std::from_chars(path.data() + folder.size(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && number >= 0) return number;
  }
  return std::nullopt;
}

FileDescriptor connect_to(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) fail(path, ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    fail(path, errno);
  return socket;
}

void write_to_device(const std::string& path, mode_t type, std::span<const std::byte> bytes) {
  FileDescriptor file = S_ISSOCK(type)
                            ? connect_to(path)
                            : FileDescriptor(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) fail(path, errno);
  throw_if(write_all(file.get(), bytes), path);
  if (file.close() != 0) fail(path, errno);
}

// What the path names behind all symbolic links, also where that does not exist yet.
fs::path behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!fs::is_symlink(fs::symlink_status(target, error))) return target;
    target = target.parent_path() / fs::read_symlink(target, error);
    throw_if(error.value(), path);
  }
  fail(path, ELOOP);
}

// A new file has the permissions of the old one and, where the system allows it, its owner.
int take_permissions(int descriptor, const struct stat& old) {
  const int is_owner_kept = ::fchown(descriptor, old.st_uid, old.st_gid);
  // The file loses the bits that run as the owner if it cannot have the same owner.
  const mode_t bits = is_owner_kept == 0 ? 07777 : 0777;
  return ::fchmod(descriptor, old.st_mode & bits) == 0 ? 0 : errno;
}

// That the new name is on the disk, too. Some file systems have no way to say so.
int synchronise_folder(const fs::path& folder) {
  const FileDescriptor file(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.is_open()) return errno == EACCES ? 0 : errno;
  if (::fsync(file.get()) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS) return 0;
  return errno;
}

void replace_file(const std::string& path, const fs::path& target, const struct stat* old,
                  std::span<const std::byte> bytes) {
  if (old != nullptr && ::access(target.c_str(), W_OK) != 0) fail(path, errno);
  remove_leftovers(target);
  TemporaryFile file(target);
  throw_if(write_all(file.descriptor(), bytes), path);
  if (old != nullptr) throw_if(take_permissions(file.descriptor(), *old), path);
  if (::fsync(file.descriptor()) != 0) fail(path, errno);
  throw_if(file.move_to_target(), path);
  throw_if(synchronise_folder(target.parent_path()), path);
}

}  // namespace

bool names_open_descriptor(std::string_view path) {
  return named_descriptor(path).has_value();
}

void write_file(const std::string& path, std::span<const std::byte> bytes, MissingFolder missing_folder) {
  if (const std::optional<int> open_descriptor = named_descriptor(path)) {
    return throw_if(write_all(*open_descriptor, bytes), path);
  }
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail(path, errno);
  if (exists && S_ISDIR(status.st_mode)) fail(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) return write_to_device(path, status.st_mode, bytes);
  if (exists && is_kept_input(status)) throw std::invalid_argument(input_mistake(path));
  const fs::path target = behind_links(path);
  if (!exists && target.has_parent_path() && missing_folder == MissingFolder::create) {
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    throw_if(error.value(), target.parent_path());
  }
  replace_file(path, target, exists ? &status : nullptr, bytes);
}

void write_file(const std::string& path, std::string_view text, MissingFolder missing_folder) {
  write_file(path, std::as_bytes(std::span(text)), missing_folder);
}

void write_file(const std::string& directory, std::string_view name, std::string_view text) {
  write_file((fs::path(directory) / name).string(), text);
}

}  // namespace packsim
