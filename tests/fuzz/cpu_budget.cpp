// Linked in front of a target: an input that takes more than 10 seconds of CPU time is a finding. libFuzzer's
// own limit goes by the clock, and on a busy machine a target that waits its turn looks like one that hangs.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

extern "C" int __real_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes);
extern "C" int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes);

namespace {

double cpu_s() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

extern "C" int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  constexpr double kMostCpu_s = 10;
  const double start_s = cpu_s();
  const int result = __real_LLVMFuzzerTestOneInput(data, n_bytes);
  const double taken_s = cpu_s() - start_s;
  if (taken_s <= kMostCpu_s) return result;
  std::fprintf(stderr, "an input takes long: expected at most %.0f s of CPU time, got %.1f\n", kMostCpu_s,
               taken_s);
  std::abort();
}
