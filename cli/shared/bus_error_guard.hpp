#pragma once

#include <csignal>
#include <string>

namespace packsim {

/// While this lives, the program ends with a message and the exit code 3 where a file that is mapped into
/// memory has become shorter: the system then sends SIGBUS, which no exception can stand for. One at a time,
/// and in programs only, as a signal belongs to the whole process.
class BusErrorGuard {
 public:
  /// path: of the file, for the message.
  explicit BusErrorGuard(const std::string& path);
  ~BusErrorGuard();
  BusErrorGuard(const BusErrorGuard&) = delete;
  BusErrorGuard& operator=(const BusErrorGuard&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace packsim
