#include "calibration/microbench/core/plan.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
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

// Positions 0..n-1: the ends, then the middles of ever smaller parts.
std::vector<std::size_t> ends_first(std::size_t n) {
  std::vector<std::size_t> order;
  if (n > 0) order.push_back(0);
  if (n > 1) order.push_back(n - 1);
  std::vector<std::pair<std::size_t, std::size_t>> parts = {{0, n > 0 ? n - 1 : 0}};
  while (!parts.empty()) {
    std::vector<std::pair<std::size_t, std::size_t>> smaller;
    for (const auto& [low, high] : parts) {
      if (high - low < 2) continue;
      const std::size_t middle = low + (high - low) / 2;
      order.push_back(middle);
      smaller.emplace_back(low, middle);
      smaller.emplace_back(middle, high);
    }
    parts = std::move(smaller);
  }
  return order;
}

std::string curve_of(const KernelCase& kernel) {
  std::string curve(kernel.kernel());
  for (const KernelKey& key : kernel.kind().keys) {
    if (key.kind == KeyKind::word) curve += " " + kernel.value(key.name);
  }
  return curve;
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

std::vector<KernelCase> spread_out(const std::vector<KernelCase>& cases) {
  std::vector<std::vector<KernelCase>> curves;
  std::map<std::string, std::size_t> index;
  for (const KernelCase& kernel : cases) {
    const auto [at, is_new] = index.try_emplace(curve_of(kernel), curves.size());
    if (is_new) curves.emplace_back();
    curves[at->second].push_back(kernel);
  }
  std::vector<std::vector<std::size_t>> orders;
  for (const auto& curve : curves) orders.push_back(ends_first(curve.size()));
  std::vector<KernelCase> order;
  for (std::size_t round = 0; order.size() < cases.size(); ++round) {
    for (std::size_t c = 0; c < curves.size(); ++c) {
      if (round < orders[c].size()) order.push_back(curves[c][orders[c][round]]);
    }
  }
  return order;
}

}  // namespace packsim::microbench
