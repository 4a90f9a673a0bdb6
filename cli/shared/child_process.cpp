#include "cli/shared/child_process.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>

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

}  // namespace

int run_and_wait(const std::string& command_line) {
  std::string shell = "/bin/sh";
  std::string flag = "-c";
  std::string text = command_line;
  char* const arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
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
  const int error = posix_spawn(&child, shell.c_str(), nullptr, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) g_child = child;
  pthread_sigmask(SIG_SETMASK, &unblocked, nullptr);
  if (error != 0) throw std::runtime_error(fmt::format("{}: {}", shell, std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error(fmt::format("waitpid: {}", std::strerror(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string first_program(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, error)) return path;
  }
  return "";
}

}  // namespace packsim
