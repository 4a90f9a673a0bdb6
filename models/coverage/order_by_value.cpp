#include "models/coverage/order_by_value.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/kernels/hardware_profile.hpp"

namespace packsim {
namespace {

struct CaseSize {
  double size = 0;
  std::int64_t tokens = 0;  // of attention, where documents of one length come in several numbers
  auto operator<=>(const CaseSize&) const = default;
};

CaseSize size_of(const KernelCase& kernel) {
  if (kernel.kernel() != "attention") return {curve_place(kernel).size, 0};
  const Documents documents = kernel.documents("docs");
  std::int64_t longest = 0;
  for (const auto& [n, length] : documents.runs) longest = std::max<std::int64_t>(longest, length);
  return {static_cast<double>(longest), documents.tokens()};
}

// The round of each position 0..n-1: 0 and 1 for the ends, 2 for the middle, one more for each halving.
std::vector<int> rounds_of(std::size_t n) {
  std::vector<int> rounds(n, 0);
  if (n < 2) return rounds;
  rounds[n - 1] = 1;
  std::vector<std::pair<std::size_t, std::size_t>> parts = {{0, n - 1}};
  for (int round = 2; !parts.empty(); ++round) {
    std::vector<std::pair<std::size_t, std::size_t>> smaller;
    for (const auto& [low, high] : parts) {
      if (high - low < 2) continue;
      const std::size_t middle = low + (high - low) / 2;
      rounds[middle] = round;
      smaller.emplace_back(low, middle);
      smaller.emplace_back(middle, high);
    }
    parts = std::move(smaller);
  }
  return rounds;
}

}  // namespace

void order_by_value(std::vector<ListedCase>& cases) {
  using Curve = std::tuple<int, std::string, std::string>;  // level, section, kernel without its size
  std::map<Curve, std::vector<std::pair<CaseSize, ListedCase*>>> curves;
  for (ListedCase& listed : cases) {
    curves[{listed.level, listed.section, curve_place(listed.kernel).key}].emplace_back(
        size_of(listed.kernel), &listed);
  }
  for (auto& [curve, points] : curves) {
    std::ranges::stable_sort(points, {}, [](const auto& point) { return point.first; });
    const std::vector<int> rounds = rounds_of(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) points[i].second->round = rounds[i];
  }
  std::ranges::stable_sort(cases, {},
                           [](const ListedCase& listed) { return std::pair(listed.level, listed.round); });
}

}  // namespace packsim
