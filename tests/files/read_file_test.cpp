#include "files/read_file.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <thread>

#include "files/file_error.hpp"
#include "tests/cli/program.hpp"

namespace packsim {
namespace {

using packsim_test::TemporaryFolder;
using packsim_test::write_text;

}  // namespace

TEST_CASE("all bytes of a file are read, whatever its size") {
  const TemporaryFolder folder;
  for (const std::size_t n : {0, 1, 65535, 65536, 65537, 300000}) {
    std::string text(n, 'x');
    if (n > 2) text[n / 2] = '\0';
    write_text(folder / "a", text);
    CHECK(read_file(folder / "a") == text);
  }
  // The system says that it has no bytes.
  CHECK(read_file("/proc/self/status").starts_with("Name:"));
}

TEST_CASE("a pipe is read to its end") {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const std::string text(200000, 'y');
  std::thread writer([&] { write_text(path, text); });
  CHECK(read_file(path) == text);
  writer.join();
}

TEST_CASE("a file that is too large is refused before it is read, a pipe when it is") {
  const TemporaryFolder folder;
  const std::string path = folder / "large";
  write_text(path, std::string(11, 'x'));
  CHECK(read_file(path, 11).size() == 11);
  CHECK_THROWS_WITH(read_file(path, 10), path + ": expected at most 10 bytes, got 11");
  // 2^40 bytes that take no room on the disk; reading them would take minutes.
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  CHECK_THROWS_WITH(read_file(path), path + ": expected at most 268435456 bytes, got 1099511627776");
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { write_text(pipe, std::string(11, 'x')); });
  CHECK_THROWS_WITH(read_file(pipe, 10), pipe + ": expected at most 10 bytes, got more");
  writer.join();
}

TEST_CASE("folders and devices are no files to read") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_file(folder.string()),
                    folder.string() + ": expected a file or a pipe, got a folder");
  CHECK_THROWS_WITH(read_file("/dev/zero"), "/dev/zero: expected a file or a pipe, got a device");
  CHECK_THROWS_AS(read_file("/dev/zero"), UnusableFileError);
  CHECK_THROWS_WITH(read_file("/none"), "/none: No such file or directory");
  CHECK_THROWS_AS(read_file("/none"), FileError);
}

}  // namespace packsim
