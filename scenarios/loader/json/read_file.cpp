#include "scenarios/loader/json/read_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "scenarios/loader/json/problems.hpp"

namespace packsim {
namespace {

// Pipes have no size to ask for, so the buffer doubles until the end shows.
constexpr std::size_t kFirstBlockBytes = std::size_t{1} << 16;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::string read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) throw FileError(path, errno);
  std::string bytes(kFirstBlockBytes, '\0');
  std::size_t n = 0;
  while (true) {
    n += std::fread(bytes.data() + n, 1, bytes.size() - n, file.get());
    if (std::ferror(file.get()) != 0) throw FileError(path, errno);
    if (n < bytes.size()) break;
    bytes.resize(2 * bytes.size());
  }
  bytes.resize(n);
  return bytes;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string hash_of(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace packsim
