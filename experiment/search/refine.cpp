#include "experiment/search/refine.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "experiment/search/near_plans.hpp"
#include "experiment/search/plan_space.hpp"
#include "experiment/search/work_floors.hpp"
#include "packing/strategy.hpp"

namespace packsim {
namespace {

constexpr std::array<double, 4> kParts = {1, 0.25, 0.125, 0.0625};
constexpr double kClearGain = 1e-3;

const TriedPlan& best_of(const std::string& strategy, const Trials& trials) {
  return *std::ranges::find_if(
      trials.tried(), [&](const TriedPlan& tried) { return tried.candidate.spec.strategy == strategy; });
}

// The strategies whose best plan is close to the best of all. mixes: those that mix degrees in an iteration;
// otherwise those whose groups may have any length.
std::vector<std::string> best_strategies(const Trials& trials, bool mixes, std::size_t most) {
  std::vector<std::string> names;
  std::vector<double> seen_s;
  for (const TriedPlan& tried : trials.tried()) {
    const Strategy& strategy = strategy_of(tried.candidate.spec);
    if (tried.epoch_s > (1 + kFinalistFraction) * trials.tried().front().epoch_s || names.size() == most)
      break;
    if (strategy.chooses_groups || strategy.mixes_groups != mixes) continue;
    const std::string& name = tried.candidate.spec.strategy;
    if (std::ranges::find(names, name) != names.end() ||
        std::ranges::find(seen_s, tried.epoch_s) != seen_s.end())
      continue;
    seen_s.push_back(tried.epoch_s);
    names.push_back(name);
  }
  return names;
}

template <typename AddNear>
void try_near(const std::string& strategy, const Refinement& refinement, Trials& trials, AddNear add_near) {
  WorkFloors floors(trials.counts(), !trials.are_some(), refinement.pricers);
  PlanCandidate near = best_of(strategy, trials).candidate;
  near.spec.micro_batches_per_rank = refinement.spec.micro_batches_per_rank;
  PlanSpace space;
  add_near(near, refinement.options, floors, space);
  refinement.search.count(space.candidates.size(), space.n_too_large);
  for (const PlanCandidate& candidate : space.candidates) trials.add(candidate, refinement.search);
}

void try_lengths(const std::string& strategy, double part, const Refinement& refinement, Trials& trials) {
  try_near(strategy, refinement, trials,
           [&](const auto& near, auto&... more) { add_near_lengths(near, part, more...); });
}

void try_all_lengths(const std::string& strategy, const Refinement& refinement, Trials& trials) {
  for (const double part : kParts) {
    // Full packs fill many iterations, and those of twice and half the length are among the listed ones.
    if (part < 1 || !trials.are_some()) try_lengths(strategy, part, refinement, trials);
  }
}

}  // namespace

void refine(const Refinement& refinement, Trials& trials, std::size_t most_strategies) {
  if (!trials.tried().empty() && trials.tried().front().candidate.spec.groups.size() == 1) {
    const std::string best = trials.tried().front().candidate.spec.strategy;
    try_near(best, refinement, trials, [&](const auto& near, auto&... more) {
      add_other_strategies(near, refinement.rivals, more...);
    });
  }
  for (const std::string& strategy : best_strategies(trials, false, most_strategies)) {
    try_all_lengths(strategy, refinement, trials);
    const double before_s = best_of(strategy, trials).epoch_s;
    try_near(strategy, refinement, trials, [&](const auto& near, auto&... more) {
      add_near_ways(near, refinement.spec.options, refinement.bases, more...);
    });
    if (best_of(strategy, trials).epoch_s >= (1 - kClearGain) * before_s) continue;
    try_all_lengths(strategy, refinement, trials);
  }
  for (const std::string& strategy : best_strategies(trials, true, most_strategies)) {
    try_near(strategy, refinement, trials,
             [&](const auto& near, auto&... more) { add_fewer_degrees(near, more...); });
  }
}

void refine_lengths(const Refinement& refinement, Trials& trials, double part) {
  for (const std::string& strategy : best_strategies(trials, false, 1))
    try_lengths(strategy, part, refinement, trials);
}

}  // namespace packsim
