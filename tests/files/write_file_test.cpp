#include "files/write_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "files/file_bytes.hpp"
#include "files/file_error.hpp"
#include "files/inputs.hpp"
#include "files/read_file.hpp"
#include "tests/cli/program.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;
using packsim_test::read_text;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

struct stat status_of(const std::string& path) {
  struct stat status = {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

std::string failure(const std::string& path) {
  try {
    write_file(path, "new");
  } catch (const FileError& error) {
    return error.what();
  }
  return "no failure";
}

// Where a test runs as root, permissions stop nothing.
bool is_root() {
  return ::geteuid() == 0;
}

}  // namespace

TEST_CASE("a file is written with its folders, replaced, and nothing else is left") {
  const TemporaryFolder folder;
  const std::string path = folder / "a/b/c.txt";
  write_file(path, "first");
  CHECK(read_text(path) == "first");
  write_file(path, "second");
  CHECK(read_text(path) == "second");
  write_file(folder / "a/b", "c.txt", "third");
  CHECK(read_text(path) == "third");
  CHECK(names_in(folder / "a/b") == std::set<std::string>{"c.txt"});
  CHECK_THROWS_WITH(write_file(folder / "d/e.txt", "text", MissingFolder::refuse),
                    (folder / "d/e.txt") + ": cannot write: No such file or directory");
}

TEST_CASE("a file that was read is not replaced while inputs are kept, by whatever path") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_text(path, "input");
  fs::create_symlink("a.txt", folder / "link.txt");
  {
    const KeptInputs kept;
    write_file(path, "before it is read");
    fs::create_hard_link(path, folder / "other_name.txt");
    CHECK(read_file(path) == "before it is read");
    for (const char* name : {"a.txt", "link.txt", "other_name.txt", "./a.txt"}) {
      CHECK_THROWS_WITH(
          write_file(folder / name, "lost"),
          (folder / name) + ": expected a file that is no input, got one that the command reads");
    }
    CHECK(read_text(path) == "before it is read");
    write_text(folder / "b.bin", "bytes");
    const RegularFile bytes(folder / "b.bin");
    CHECK_THROWS_AS(write_file(folder / "b.bin", "lost"), std::invalid_argument);
    write_file(folder / "c.txt", "another file");
    release_input(path);
    write_file(path, "changed in place");
  }
  CHECK(read_file(path) == "changed in place");
  write_file(path, "nobody keeps inputs");
  CHECK(read_text(path) == "nobody keeps inputs");
}

TEST_CASE("who has the old file open keeps it") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_file(path, "old");
  std::ifstream old(path);
  write_file(path, "newer");
  CHECK(std::string(std::istreambuf_iterator<char>(old), {}) == "old");
}

TEST_CASE("a symbolic link stays, and the file that it names is replaced") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "runs");
  write_text(folder / "runs/7.plan", "old");
  fs::create_symlink("runs/7.plan", folder / "latest.plan");
  fs::create_symlink("latest.plan", folder / "best.plan");
  write_file(folder / "best.plan", "new");
  CHECK(fs::is_symlink(folder / "best.plan"));
  CHECK(fs::is_symlink(folder / "latest.plan"));
  CHECK(read_text(folder / "runs/7.plan") == "new");
  CHECK(names_in(folder / "runs") == std::set<std::string>{"7.plan"});
}

TEST_CASE("a link to a file that is not there yet makes that file") {
  const TemporaryFolder folder;
  fs::create_symlink("runs/8.plan", folder / "latest.plan");
  write_file(folder / "latest.plan", "new");
  CHECK(fs::is_symlink(folder / "latest.plan"));
  CHECK(read_text(folder / "runs/8.plan") == "new");
}

TEST_CASE("a link that leads to itself is refused") {
  const TemporaryFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  CHECK(failure(folder / "a") == (folder / "a") + ": cannot write: Too many levels of symbolic links");
}

TEST_CASE("planted files and links with the names of earlier temporary files are neither followed nor lost") {
  const TemporaryFolder folder;
  write_text(folder / "target", "mine");
  fs::create_symlink("target", folder / "packs.csv.partial");
  fs::create_symlink("target", folder / ".packs.csv.0123456789abcdef.partial");
  write_text(folder / ".packs.csv.notes.partial", "mine");
  write_file(folder / "packs.csv", "packs");
  CHECK(read_text(folder / "target") == "mine");
  CHECK(names_in(folder.string()) == std::set<std::string>{"target", "packs.csv.partial", "packs.csv",
                                                           ".packs.csv.0123456789abcdef.partial",
                                                           ".packs.csv.notes.partial"});
}

TEST_CASE("what a killed writer left is removed, what a living one writes is not") {
  const TemporaryFolder folder;
  const std::string dead = folder / ".a.txt.0000000000000000.partial";
  const std::string living = folder / ".a.txt.1111111111111111.partial";
  const std::string of_another = folder / ".b.txt.2222222222222222.partial";
  for (const std::string& path : {dead, living, of_another}) write_text(path, "half");
  const int lock = ::open(living.c_str(), O_RDWR);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  write_file(folder / "a.txt", "whole");
  ::close(lock);
  CHECK(names_in(folder.string()) ==
        std::set<std::string>{"a.txt", fs::path(living).filename(), fs::path(of_another).filename()});
}

TEST_CASE("writers of one path at the same time: the file is always one of theirs, whole", "[threads]") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_file(path, std::string(40000, '0'));
  constexpr int kWrites = 20;
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c'}) {
    writers.emplace_back([&path, letter] {
      for (int i = 0; i < kWrites; ++i) write_file(path, std::string(40000, letter));
    });
  }
  bool is_whole = true;
  for (int i = 0; i < 200; ++i) {
    const std::string text = read_text(path);
    is_whole = is_whole && text.size() == 40000 && std::ranges::count(text, text.front()) == 40000;
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(is_whole);
  CHECK(names_in(folder.string()) == std::set<std::string>{"a.txt"});
}

TEST_CASE("a new file has the usual permissions, and one that is replaced keeps its own") {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(027);
  write_file(folder / "new.txt", "new");
  ::umask(mask);
  CHECK((status_of(folder / "new.txt").st_mode & 07777) == 0640);
  write_text(folder / "old.txt", "old");
  REQUIRE(::chmod((folder / "old.txt").c_str(), 0604) == 0);
  const bool is_given = is_root() && ::chown((folder / "old.txt").c_str(), 12345, 54321) == 0;
  write_file(folder / "old.txt", "new");
  CHECK((status_of(folder / "old.txt").st_mode & 07777) == 0604);
  if (is_given) {
    CHECK(status_of(folder / "old.txt").st_uid == 12345);
    CHECK(status_of(folder / "old.txt").st_gid == 54321);
  }
}

TEST_CASE("pipes, sockets and devices are written to and stay what they are") {
  const TemporaryFolder folder;
  SECTION("a pipe") {
    const std::string path = folder / "pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    std::string text;
    std::thread reader([&] { text = read_text(path); });
    write_file(path, std::string(100000, 'x'));
    reader.join();
    CHECK(text == std::string(100000, 'x'));
    CHECK(S_ISFIFO(status_of(path).st_mode));
  }
  SECTION("a socket") {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = folder / "socket";
    std::memcpy(address.sun_path, path.data(), path.size());
    const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(::listen(server, 1) == 0);
    write_file(path, "through");
    const int client = ::accept(server, nullptr, nullptr);
    char text[16] = {};
    CHECK(::read(client, text, sizeof(text)) == 7);
    CHECK(std::string(text) == "through");
    ::close(client);
    ::close(server);
    CHECK(failure(path) == path + ": cannot write: Connection refused");
    CHECK(S_ISSOCK(status_of(path).st_mode));
  }
  SECTION("a device, also behind a link") {
    const std::string path = folder / "null";
    // The device 1:3 takes all and keeps nothing. Only root may make one.
    if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) fs::create_symlink("/dev/null", path);
    fs::create_symlink("null", folder / "link");
    write_file(folder / "link", "gone");
    CHECK(fs::is_character_file(path));
  }
  CHECK(names_in(folder.string()).size() <= 2);
}

TEST_CASE("an open descriptor is written to where it is") {
  const TemporaryFolder folder;
  write_text(folder / "log.txt", "before ");
  const int log = ::open((folder / "log.txt").c_str(), O_WRONLY | O_APPEND);
  write_file("/dev/fd/" + std::to_string(log), "text");
  ::close(log);
  CHECK(read_text(folder / "log.txt") == "before text");
  CHECK(failure("/dev/fd/999999") == "/dev/fd/999999: cannot write: Bad file descriptor");
}

TEST_CASE("what cannot be written is named with the system's reason, and stays as it was") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "taken");
  CHECK(failure(folder / "taken") == (folder / "taken") + ": cannot write: Is a directory");
  write_text(folder / "file", "old");
  CHECK(failure(folder / "file/a.txt") == (folder / "file/a.txt") + ": cannot write: Not a directory");
  CHECK(failure("/dev/full") == "/dev/full: cannot write: No space left on device");
  CHECK(failure("/proc/none/a.txt") == "/proc/none: cannot write: No such file or directory");
  CHECK(failure(folder / std::string(300, 'x')) ==
        (folder / std::string(300, 'x')) + ": cannot write: File name too long");
  CHECK(read_text(folder / "file") == "old");
  // The longest name that there is has room for that of the temporary file.
  CHECK(failure(folder / std::string(255, 'x')) == "no failure");
  CHECK(names_in(folder.string()) == std::set<std::string>{"taken", "file", std::string(255, 'x')});
}

TEST_CASE("a file without permission to write is not replaced") {
  if (is_root()) return;
  const TemporaryFolder folder;
  write_text(folder / "kept.txt", "old");
  REQUIRE(::chmod((folder / "kept.txt").c_str(), 0444) == 0);
  CHECK(failure(folder / "kept.txt") == (folder / "kept.txt") + ": cannot write: Permission denied");
  CHECK(read_text(folder / "kept.txt") == "old");
}

}  // namespace packsim
