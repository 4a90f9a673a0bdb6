#include "calibration/microbench/core/plan.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <stdexcept>

#include "calibration/microbench/core/command_line.hpp"

namespace packsim::microbench {
namespace {

std::string trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
}

}  // namespace

std::vector<KernelCase> read_plans(const std::vector<std::string>& paths) {
  std::vector<KernelCase> cases;
  std::set<std::string> known;
  std::string mistakes;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    std::string line;
    int number = 0;
    while (file && std::getline(file, line)) {
      ++number;
      const std::string text = trimmed(line);
      if (text.empty()) continue;
      try {
        const KernelCase kernel = KernelCase::parse(text);
        if (known.insert(kernel.text()).second) cases.push_back(kernel);
      } catch (const std::invalid_argument& mistake) {
        mistakes +=
            (mistakes.empty() ? "" : "\n") + path + ":" + std::to_string(number) + ": " + mistake.what();
      }
    }
    // A folder opens but cannot be read: both end here without the end of the file.
    if (!file.eof()) throw std::runtime_error(path + ": cannot be read: " + std::strerror(errno));
  }
  if (!mistakes.empty()) throw UserError(mistakes);
  return cases;
}

}  // namespace packsim::microbench
