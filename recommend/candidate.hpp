#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results/planned_group.hpp"
#include "experiment/results/strategy_result.hpp"
#include "recommend/question.hpp"

namespace packsim {

inline constexpr double kHoursPerDay = 24;

/// What a candidate is to a question.
enum class Standing {
  meets,          ///< all limits
  misses,         ///< a limit
  other_job,      ///< trains another job than was asked for, so it is not compared
  does_not_fit,   ///< in GPU memory
  failed,         ///< the strategy cannot be run
  refused,        ///< the scenario has mistakes on this cluster
  ruled_out,      ///< misses a limit with any schedule; not simulated
  not_simulated,  ///< cannot be better than the best with any schedule
  not_reached,    ///< may be better than the best: no time was left to simulate it
};
inline constexpr int kNStandings = 9;

/// "meets", "misses", "other_job" ... as JSON says it.
const char* standing_name(Standing standing);

/// What a run takes, with the time that failures cost if the scenario has failures.
struct CandidateTimes {
  double wall_hours = 0;
  double wall_hours_low = 0;  ///< low to high is meant to hold nine of ten true values
  double wall_hours_high = 0;
  double gpu_days = 0;
  double gpu_days_low = 0;
  double gpu_days_high = 0;
  std::optional<double> money = {};  ///< none without a price
  std::optional<double> money_low = {};
  std::optional<double> money_high = {};

  /// The money, or without a price the GPU-days.
  double cost() const { return money.value_or(gpu_days); }
};

/// The plan of a candidate, as answers show it.
struct CandidatePlan {
  int zero_stage = 1;
  std::string groups;  ///< in words
  std::string json;    ///< every key (run_plan_json())
};
/// None without groups.
std::optional<CandidatePlan> candidate_plan(const ParallelPlan& plan,
                                            const std::vector<PlannedGroup>& groups);

/// A strategy on a cluster. Where a cluster was not simulated or was refused it is one candidate without a
/// strategy.
struct Candidate {
  std::size_t offer = 0;  ///< index in Question::offers
  int nodes = 0;
  int n_gpus = 0;
  double least_gpu_hours = 0;  ///< of the cluster, whatever the schedule (least_work()); 0 if not known
  std::string strategy = {};
  Standing standing = Standing::refused;
  std::string reason = {};  ///< why it does not meet the question; empty if it does
  std::optional<CandidatePlan> plan = {};
  std::optional<CandidateTimes> times = {};
  /// Of all that its result depends on: the scenario on this cluster, the files that it names, its data, and
  /// the version of the program. Empty where the scenario is refused.
  std::string job_hash = {};

  /// Whether it fits, and trains the job that was asked for.
  bool is_comparable() const { return standing == Standing::meets || standing == Standing::misses; }
};

/// How likely the times keep to the deadline and the budget, by their intervals, which are log-normal: errors
/// make time and money larger together. None without such limits.
std::optional<double> chance_to_meet(const Limits& limits, const CandidateTimes& times);

/// Sorts out a candidate with times that trains the job that was asked for: meets, or misses and why.
void judge(const Limits& limits, Candidate& candidate);

/// Whether the goal prefers one candidate to another. Both have times.
bool is_better(Goal goal, const Candidate& one, const Candidate& other);

/// What no schedule on the candidate's cluster goes below; all 0 if that is not known.
CandidateTimes least_times(const Question& question, const Candidate& candidate);

/// What a run with times takes. With failures, expected times; both ends are then those of a run that is as
/// far off in its failures as in its prices.
CandidateTimes times_of(const StrategyResult& run, const std::optional<double>& gpu_hour_price);

}  // namespace packsim
