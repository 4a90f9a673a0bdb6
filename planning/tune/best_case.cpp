#include "planning/tune/best_case.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

namespace packsim {
namespace {

bool is_better(const ProfiledCase& one, const ProfiledCase& other) {
  const auto rank = [](const ProfiledCase& profiled) {
    return std::tuple(*profiled.step_s, profiled.sequence.ulysses, profiled.gc_layers, profiled.pack_tokens);
  };
  return rank(one) < rank(other);
}

}  // namespace

std::optional<ProfiledCase> best_case(std::span<const ProfiledCase> cases) {
  std::optional<ProfiledCase> best;
  for (const ProfiledCase& one : cases) {
    if (one.feasible() && (!best || is_better(one, *best))) best = one;
  }
  return best;
}

std::vector<ProfiledCase> cases_of_length(std::span<const ProfiledCase> cases, std::int64_t pack_tokens) {
  std::vector<ProfiledCase> found;
  std::ranges::copy_if(cases, std::back_inserter(found),
                       [&](const ProfiledCase& one) { return one.pack_tokens == pack_tokens; });
  return found;
}

std::vector<ProfiledCase> tied_degrees(std::span<const ProfiledCase> cases, const ProfiledCase& best,
                                       double near_tie_fraction) {
  std::vector<ProfiledCase> ordered;
  std::ranges::copy_if(cases, std::back_inserter(ordered), &ProfiledCase::feasible);
  std::ranges::stable_sort(ordered, is_better);
  std::set<int> seen = {best.sequence.ulysses};
  std::vector<ProfiledCase> tied;
  for (const ProfiledCase& one : ordered) {
    if (seen.insert(one.sequence.ulysses).second && saved_fraction(best, one) <= near_tie_fraction)
      tied.push_back(one);
  }
  return tied;
}

double saved_fraction(const ProfiledCase& best, const ProfiledCase& other) {
  return 1 - *best.step_s / *other.step_s;
}

}  // namespace packsim
