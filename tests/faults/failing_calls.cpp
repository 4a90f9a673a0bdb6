// Makes one system call of a program fail, be cut short, or be its last, to test what then stands on the
// disk:
//   LD_PRELOAD=libpacksim_failing_calls.so PACKSIM_FAULT=write:3:ENOSPC PACKSIM_FAULT_MARK=hit packsim ...
// The third write to a file that the program created fails as on a full disk, and a file "hit" appears. Calls
// are open (of files that are created), write, fsync, fchmod and rename, and malloc since
// main began. Instead of an error, "kill" ends the program as kill -9 does, "short" writes half of the bytes,
// and "EINTR" happens once.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr int kMostDescriptors = 1024;
bool is_ours[kMostDescriptors];  // descriptors of files that the program created

constexpr struct {
  std::string_view name;
  int number;
} kErrors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EINTR", EINTR},  {"EACCES", EACCES},
               {"EROFS", EROFS},   {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}};

constexpr int kShort = -1;

using Main = int (*)(int, char**, char**);
Main main_of_program;
bool has_begun = false;  // before main nobody can say what went wrong

bool is_one_of_ours(int descriptor) {
  return descriptor >= 0 && descriptor < kMostDescriptors && is_ours[descriptor];
}

// What is to happen to this call: 0 (nothing), kShort or an error number. Ends the program for "kill".
int fault(std::string_view call) {
  static int n_calls = 0;
  const char* const set = std::getenv("PACKSIM_FAULT");
  const std::string_view wanted = set == nullptr ? "" : set;
  if (!wanted.starts_with(call) || wanted.substr(call.size(), 1) != ":") return 0;
  char* end = nullptr;
  const long at = std::strtol(set + call.size() + 1, &end, 10);
  if (++n_calls != at) return 0;
  if (const char* const mark = std::getenv("PACKSIM_FAULT_MARK"))
    ::syscall(SYS_close, ::syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600));
  const std::string_view what = end + 1;
  if (what == "kill") ::raise(SIGKILL);
  if (what == "short") return kShort;
  for (const auto& error : kErrors) {
    if (what == error.name) return error.number;
  }
  std::abort();
}

bool fails(std::string_view call) {
  const int error = fault(call);
  if (error > 0) errno = error;
  return error > 0;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  const bool creates = (flags & O_CREAT) != 0;
  if (creates && fails("open")) return -1;
  const int descriptor = static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
  if (descriptor >= 0 && descriptor < kMostDescriptors) is_ours[descriptor] = creates;
  return descriptor;
}

int main_with_faults(int argc, char** argv, char** environment) {
  has_begun = true;
  const int status = main_of_program(argc, argv, environment);
  has_begun = false;
  return status;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t n_bytes);

int __libc_start_main(Main program, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld)(),
                      void* stack) {
  using Start = decltype(&__libc_start_main);
  main_of_program = program;
  return reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"))(main_with_faults, argc, argv, init,
                                                                          fini, rtld, stack);
}

void* malloc(size_t n_bytes) {
  return has_begun && fails("malloc") ? nullptr : __libc_malloc(n_bytes);
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int close(int descriptor) {
  if (descriptor >= 0 && descriptor < kMostDescriptors) is_ours[descriptor] = false;
  return static_cast<int>(::syscall(SYS_close, descriptor));
}

ssize_t write(int descriptor, const void* bytes, size_t n) {
  if (!is_one_of_ours(descriptor)) return ::syscall(SYS_write, descriptor, bytes, n);
  // Of each write, so that there are many.
  if (const char* const most = std::getenv("PACKSIM_FAULT_MOST_BYTES"))
    n = std::min<size_t>(n, std::strtoul(most, nullptr, 10));
  const int error = fault("write");
  if (error > 0) {
    errno = error;
    return -1;
  }
  return ::syscall(SYS_write, descriptor, bytes, error == kShort ? (n + 1) / 2 : n);
}

// No power fails in a test, so nothing waits for the disk.
int fsync(int) {
  return fails("fsync") ? -1 : 0;
}

int fchmod(int descriptor, mode_t mode) noexcept {
  return fails("fchmod") ? -1 : static_cast<int>(::syscall(SYS_fchmod, descriptor, mode));
}

int rename(const char* from, const char* to) noexcept {
  return fails("rename") ? -1 : static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

}  // extern "C"
