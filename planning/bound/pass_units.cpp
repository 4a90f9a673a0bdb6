#include "planning/bound/pass_units.hpp"

#include <algorithm>
#include <tuple>

namespace packsim {
namespace {

// Whether b lies above the line from a to c, or on it.
bool is_above(const PassTimes& a, const PassTimes& b, const PassTimes& c) {
  return (b.forward - a.forward) * (c.backward - a.backward) <=
         (b.backward - a.backward) * (c.forward - a.forward);
}

}  // namespace

std::vector<PassTimes> least_passes(std::vector<PassTimes> times) {
  std::ranges::sort(times, [](const PassTimes& a, const PassTimes& b) {
    return std::tie(a.forward, a.backward) < std::tie(b.forward, b.backward);
  });
  std::vector<PassTimes> least;
  for (const PassTimes& time : times) {
    if (!least.empty() && time.backward >= least.back().backward) continue;
    while (least.size() > 1 && is_above(least[least.size() - 2], least.back(), time)) least.pop_back();
    least.push_back(time);
  }
  return least;
}

}  // namespace packsim
