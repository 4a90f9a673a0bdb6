#include "cli/shared/child_process.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>

#include "files/file_descriptor.hpp"
#include "files/file_error.hpp"
#include "files/write_all.hpp"

extern char** environ;

namespace packsim {
namespace {

volatile std::sig_atomic_t g_child = 0;

void pass_on(int signal) {
  if (g_child > 0) kill(static_cast<pid_t>(g_child), signal);
}

// Leaves Ctrl-C and the like to the program that is waited for.
class IgnoreInterrupts {
 public:
  IgnoreInterrupts() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
    // A terminal sends those to the program, too; this one comes to us alone.
    struct sigaction passing {};
    passing.sa_handler = pass_on;
    sigaction(SIGTERM, &passing, &terminate_);
  }
  ~IgnoreInterrupts() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
    g_child = 0;
  }
  IgnoreInterrupts(const IgnoreInterrupts&) = delete;
  IgnoreInterrupts& operator=(const IgnoreInterrupts&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction quit_ {};
  struct sigaction terminate_ {};
};

// Starts a program and waits for its end. Returns its exit code, 128 + n for an end by signal n.
int spawn_and_wait(std::vector<std::string> words, const posix_spawn_file_actions_t* files) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  sigaddset(&defaults, SIGTERM);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  const IgnoreInterrupts ignore;
  // A SIGTERM that comes before it is known whom to pass it on to waits.
  sigset_t unblocked;
  pthread_sigmask(SIG_BLOCK, &defaults, &unblocked);
  posix_spawnattr_setsigmask(&attributes, &unblocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) g_child = child;
  pthread_sigmask(SIG_SETMASK, &unblocked, nullptr);
  if (error != 0) throw std::runtime_error(fmt::format("{}: {}", words[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error(fmt::format("waitpid: {}", std::strerror(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// A file in memory. Unlike a pipe, it takes all that one side writes before the other side reads.
FileDescriptor memory_file(const char* name) {
  FileDescriptor file(memfd_create(name, MFD_CLOEXEC));
  if (!file.is_open()) throw FileError(name, errno);
  return file;
}

std::string text_of_file(const FileDescriptor& file) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(lseek(file.get(), 0, SEEK_END), 0)), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = pread(file.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

}  // namespace

int run_and_wait(const std::string& command_line) {
  return spawn_and_wait({"/bin/sh", "-c", command_line}, nullptr);
}

ChildOutput run_with_input(const std::string& program, const std::vector<std::string>& arguments,
                           std::string_view input) {
  const FileDescriptor in = memory_file("standard input");
  const FileDescriptor out = memory_file("standard output");
  const FileDescriptor err = memory_file("standard error");
  if (const int error = write_all(in.get(), std::as_bytes(std::span(input))); error != 0)
    throw FileError("standard input", error);
  lseek(in.get(), 0, SEEK_SET);
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.get(), STDERR_FILENO);
  const int exit_code = spawn_and_wait(words, &files);
  posix_spawn_file_actions_destroy(&files);
  return {exit_code, text_of_file(out), text_of_file(err)};
}

std::string first_program(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, error)) return path;
  }
  return "";
}

std::vector<std::string> places_on_path(const std::string& name) {
  std::vector<std::string> places;
  const char* const path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    places.push_back((std::filesystem::path(rest.substr(0, end)) / name).string());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return places;
}

}  // namespace packsim
