#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/plan_search.hpp"
#include "experiment/search/plan_candidate.hpp"
#include "experiment/search/time_limit.hpp"
#include "experiment/search/try_plan.hpp"
#include "planning/bound/lower_bound.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// A plan whose simulation takes longer than the best one's by this part is given up.
inline constexpr double kFinalistFraction = 0.05;

/// The samples with which plans are simulated.
struct Samples {
  std::span<const std::int32_t> lengths_tokens;
  std::vector<LengthCount> counts;
  std::int64_t lost_tokens = 0;  ///< tokens that every plan drops or cuts off
  bool are_some = false;         ///< whether they are only some of the data set
};

/// longest_tokens: of a sample that is trained whole; over_long applies to longer ones.
Samples samples_of(std::span<const std::int32_t> lengths_tokens, std::int64_t longest_tokens,
                   OverLong over_long, bool are_some);

/// Simulates plans with samples, and keeps those that can be used, the best first.
class Trials {
 public:
  /// The scenario is kept by reference.
  Trials(const Scenario& scenario, Samples samples, std::shared_ptr<ScenarioPricers> pricers,
         TimeLimit time_limit)
      : scenario_(scenario),
        samples_(std::move(samples)),
        pricers_(std::move(pricers)),
        time_limit_(time_limit) {}

  /// Simulates a plan, unless its floor is above the best one's time or the search is over. search: counts
  /// it.
  void add(const PlanCandidate& candidate, PlanSearch& search);

  /// Whether the search has taken as long as it may. One plan that can be used is found in any case.
  bool is_over() const { return !tried_.empty() && time_limit_.is_over(); }
  /// Whether no slower plan can be better than the best one: it trains the job that was asked for.
  bool best_rules_out() const;
  /// Whether no plan with such a floor can be the best.
  bool rules_out(double floor_s) const;
  std::span<const LengthCount> counts() const { return samples_.counts; }
  /// Whether these are only some of the samples.
  bool are_some() const { return samples_.are_some; }
  /// Why the first plan that cannot be used was refused.
  const std::string& refusal() const { return refusal_; }
  const std::vector<TriedPlan>& tried() const { return tried_; }

 private:
  const Scenario& scenario_;
  Samples samples_;
  std::shared_ptr<ScenarioPricers> pricers_;
  TimeLimit time_limit_;
  std::vector<TriedPlan> tried_;
  std::string refusal_;
};

}  // namespace packsim
