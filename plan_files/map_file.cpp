#include "plan_files/map_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "files/file_descriptor.hpp"
#include "files/file_error.hpp"

namespace packsim {

MappedFile::MappedFile(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) throw FileError(path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) throw FileError(path, errno);
  if (S_ISDIR(status.st_mode)) throw FileError(path, EISDIR);
  const auto n = static_cast<std::size_t>(status.st_size);
  if (n == 0) return;  // nothing can be mapped
  // Every byte is read at once, for its hash.
  void* const start = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(), 0);
  if (start == MAP_FAILED) throw FileError(path, errno);
  bytes_ = {static_cast<const std::byte*>(start), n};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace packsim
