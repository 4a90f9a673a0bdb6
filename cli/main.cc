#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "cli/program.hpp"
#include "cli/shared/exit_codes.hpp"

namespace {

std::terminate_handler terminate_before = nullptr;

// Destructors of JSON values allocate memory (nlohmann 3.11), and nothing can catch what a destructor throws.
[[noreturn]] void end_out_of_memory() {
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kLine = "packsim: out of memory\n";
    [[maybe_unused]] const auto n = ::write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(packsim::kMachineFailure);
  } catch (...) {
  }
  terminate_before();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  terminate_before = std::set_terminate(end_out_of_memory);
  return packsim::run_program(argc, argv);
}
