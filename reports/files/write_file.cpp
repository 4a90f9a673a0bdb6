#include "reports/files/write_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace packsim {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& system_text) {
  throw std::runtime_error(path.string() + ": cannot write: " + system_text);
}

// Standard streams keep no reason for a failure; C's functions leave it in errno. Returns 0 or that.
int write_text(const std::filesystem::path& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return errno;
  const bool complete = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int write_error = complete ? 0 : errno;
  // What is still buffered can fail as late as here.
  const int close_error = std::fclose(file) == 0 ? 0 : errno;
  return write_error != 0 ? write_error : close_error;
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code no_status;
  const std::filesystem::file_status status = std::filesystem::status(path, no_status);
  // Devices and pipes are written to: a file in their place would be no device.
  if (std::filesystem::is_character_file(status) || std::filesystem::is_fifo(status)) {
    if (const int error = write_text(path, text); error != 0)
      fail(path, std::generic_category().message(error));
    return;
  }
  // The file that a link names is replaced, not the link.
  std::error_code no_link;
  const std::filesystem::path target =
      std::filesystem::is_symlink(path, no_link) ? std::filesystem::weakly_canonical(path, no_link) : path;
  const std::filesystem::path partial = target.string() + ".partial";
  if (const int error = write_text(partial, text); error != 0) {
    std::remove(partial.c_str());
    fail(path, std::generic_category().message(error));
  }
  std::error_code error;
  std::filesystem::rename(partial, target, error);
  if (error) {
    std::remove(partial.c_str());
    fail(path, error.message());
  }
}

}  // namespace

void write_file(const std::string& directory, std::string_view name, std::string_view text) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail(directory, error.message());
  replace_file(std::filesystem::path(directory) / name, text);
}

void write_file(const std::string& path_text, std::string_view text) {
  const std::filesystem::path path(path_text);
  write_file(path.has_parent_path() ? path.parent_path().string() : ".", path.filename().string(), text);
}

}  // namespace packsim
