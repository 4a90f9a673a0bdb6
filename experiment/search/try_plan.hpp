#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "experiment/search/plan_candidate.hpp"

namespace packsim {

/// What simulating one epoch with a plan showed.
struct TriedPlan {
  PlanCandidate candidate;
  /// Why the plan cannot be used: it does not fit in memory, or the strategy refuses it. Empty: it can.
  std::string refusal = {};
  std::int64_t lost_tokens = 0;  ///< of samples that were dropped or cut short
  bool is_asked_job = true;      ///< whether iterations have the size that the scenario asks for
  bool has_asked_mean = true;    ///< whether the mean iteration has
  /// Seconds of an epoch if last iterations that are not full cost as much as their part of a full one.
  double epoch_s = 0;
  std::vector<PlannedGroup> groups = {};
};

/// Whether one plan is better than the other: it loses fewer tokens; or as many, but trains the job that was
/// asked for; or neither does, but it has iterations of the size asked for on average; or is equal in all
/// and faster. Both can be used.
bool is_better(const TriedPlan& one, const TriedPlan& other);

/// Packs, schedules and simulates one epoch of samples with a candidate's plan.
///
/// If its packs have one length and are not full, each rank gets as many of them as make up an iteration of
/// the size asked for; the returned candidate says how many. is_sample: whether these are only some of the
/// scenario's samples. The time then leaves out that last iterations are not full, and packs run with the
/// checkpointed layers of full ones. A plan with which the samples take longer than most_s is refused.
TriedPlan try_plan(const Scenario& scenario, const PlanCandidate& candidate,
                   std::span<const std::int32_t> lengths_tokens, bool is_sample, double most_s,
                   const std::shared_ptr<ScenarioPricers>& pricers);

}  // namespace packsim
