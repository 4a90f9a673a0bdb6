#include "cli/shared/free_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace packsim {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The number behind a word of a file of the kernel, or the first one if the word is empty.
std::optional<double> number_in(const char* path, const std::string& word) {
  std::ifstream file(path);
  double number = 0;
  for (std::string read; !word.empty() && file >> read;) {
    if (read == word) break;
  }
  if (file >> number) return number;
  return std::nullopt;
}

double of_machine() {
  const std::optional<double> available_kib = number_in("/proc/meminfo", "MemAvailable:");
  return available_kib ? *available_kib * 1024 : kUnlimited;
}

// "max", which is no number, where there is no limit.
double of_control_group() {
  const std::optional<double> most = number_in("/sys/fs/cgroup/memory.max", "");
  const std::optional<double> used = number_in("/sys/fs/cgroup/memory.current", "");
  return most && used ? std::max(0.0, *most - *used) : kUnlimited;
}

double of_addresses() {
  rlimit limit{};
  const std::optional<double> used_pages = number_in("/proc/self/statm", "");
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || !used_pages) return kUnlimited;
  const double used = *used_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - used);
}

}  // namespace

double free_memory_bytes() {
  return std::min({of_machine(), of_control_group(), of_addresses()});
}

}  // namespace packsim
