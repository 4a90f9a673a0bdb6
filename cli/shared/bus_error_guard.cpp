#include "cli/shared/bus_error_guard.hpp"

#include <unistd.h>

#include <array>

#include "cli/shared/exit_codes.hpp"
#include "files/text/printable.hpp"

namespace packsim {
namespace {

// What the handler writes; made before, as a handler may not allocate.
std::array<char, 4096 + 128> bus_error_text = {};
std::size_t n_bus_error_text = 0;

extern "C" void end_with_bus_error(int) {
  // Nothing is left to do where this cannot be written.
  if (::write(STDERR_FILENO, bus_error_text.data(), n_bus_error_text) < 0) ::_exit(kMachineFailure);
  ::_exit(kMachineFailure);
}

}  // namespace

BusErrorGuard::BusErrorGuard(const std::string& path) {
  const std::string text =
      "packsim: " + printable(path) + ": the file was cut, or its disk failed, while it was being read\n";
  n_bus_error_text = text.copy(bus_error_text.data(), bus_error_text.size());
  struct sigaction action = {};
  action.sa_handler = end_with_bus_error;
  sigaction(SIGBUS, &action, &before_);
}

BusErrorGuard::~BusErrorGuard() {
  sigaction(SIGBUS, &before_, nullptr);
}

}  // namespace packsim
