#include "files/temporary_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "files/file_error.hpp"

namespace packsim {
namespace {

constexpr std::size_t kDigits = 16;
constexpr std::string_view kEnding = ".partial";
// A name may have 255 bytes.
constexpr std::size_t kMostNameBytes = 200;

// What all temporary files of a target begin with.
std::string beginning(const std::filesystem::path& target) {
  return "." + target.filename().string().substr(0, kMostNameBytes) + ".";
}

std::string random_digits() {
  std::random_device device;
  const std::uint64_t number = std::uint64_t{device()} << 32 | device();
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

bool is_temporary_name(std::string_view name, std::string_view begins_with) {
  if (!name.starts_with(begins_with) || !name.ends_with(kEnding)) return false;
  if (name.size() != begins_with.size() + kDigits + kEnding.size()) return false;
  return name.substr(begins_with.size(), kDigits).find_first_not_of("0123456789abcdef") ==
         std::string_view::npos;
}

int open_new(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

// Another writer may have taken the file for a leftover between open and lock, and removed it.
bool is_still_there(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// File systems without locks refuse them all; there leftovers stay.
bool is_left_over(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

TemporaryFile::TemporaryFile(const std::filesystem::path& target) : target_(target), file_(-1) {
  while (true) {
    path_ = target.parent_path() / (beginning(target) + random_digits() + std::string(kEnding));
    FileDescriptor file(open_new(path_));
    if (!file.is_open() && (errno == EEXIST || errno == EINTR)) continue;
    if (!file.is_open()) throw FileError(target.string(), errno, "cannot write");
    // Waits while another writer looks whether this is a leftover. File systems without locks refuse at once.
    while (::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    if (!is_still_there(file.get())) continue;
    file_ = std::move(file);
    return;
  }
}

TemporaryFile::~TemporaryFile() {
  if (!is_moved_) ::unlink(path_.c_str());
}

int TemporaryFile::move_to_target() {
  // The lock ends with the descriptor, which therefore stays open until the object goes.
  if (std::rename(path_.c_str(), target_.c_str()) != 0) return errno;
  is_moved_ = true;
  return 0;
}

void remove_leftovers(const std::filesystem::path& target) {
  const std::filesystem::path folder_path = target.parent_path();
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(folder_path.empty() ? "." : folder_path.c_str()));
  if (folder == nullptr) return;
  const std::string begins_with = beginning(target);
  while (const dirent* entry = ::readdir(folder.get())) {
    if (!is_temporary_name(entry->d_name, begins_with)) continue;
    const FileDescriptor file(
        ::openat(::dirfd(folder.get()), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.is_open() && is_left_over(file.get())) ::unlinkat(::dirfd(folder.get()), entry->d_name, 0);
  }
}

}  // namespace packsim
