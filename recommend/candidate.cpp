#include "recommend/candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "models/step/time_errors.hpp"
#include "reports/formats/plan_search_json.hpp"
#include "reports/tables/shown_groups.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {

const char* standing_name(Standing standing) {
  constexpr std::array<const char*, kNStandings> kNames = {"meets",        "misses",        "other_job",
                                                           "does_not_fit", "failed",        "refused",
                                                           "ruled_out",    "not_simulated", "not_reached"};
  return kNames.at(static_cast<std::size_t>(standing));
}

namespace {

// Of a log-normal value, whose interval of nine of ten ends at `high`.
double chance_below(double limit, double value, double high) {
  if (high <= value) return value <= limit ? 1 : 0;
  const double end = std::log(nine_of_ten_factor(1));  // in standard deviations
  const double deviations = end * std::log(limit / value) / std::log(high / value);
  return std::erfc(-deviations / std::sqrt(2.0)) / 2;
}

}  // namespace

std::optional<CandidatePlan> candidate_plan(const ParallelPlan& plan,
                                            const std::vector<PlannedGroup>& groups) {
  if (groups.empty()) return std::nullopt;
  return CandidatePlan{.zero_stage = groups.front().zero_stage,
                       .groups = groups_text(plan, groups),
                       .json = run_plan_json(plan, groups).dump()};
}

std::optional<double> chance_to_meet(const Limits& limits, const CandidateTimes& times) {
  std::optional<double> chance;
  if (limits.deadline_hours)
    chance = chance_below(*limits.deadline_hours, times.wall_hours, times.wall_hours_high);
  if (limits.budget && times.money)
    chance = std::min(chance.value_or(1), chance_below(*limits.budget, *times.money, *times.money_high));
  return chance;
}

void judge(const Limits& limits, Candidate& candidate) {
  using formats_detail::quantity;
  const CandidateTimes& times = *candidate.times;
  std::vector<std::string> misses;
  if (limits.deadline_hours && times.wall_hours_high > *limits.deadline_hours)
    misses.push_back(
        fmt::format("up to {} h of {}", quantity(times.wall_hours_high), quantity(*limits.deadline_hours)));
  if (limits.budget && times.money_high.value() > *limits.budget)
    misses.push_back(
        fmt::format("costs up to {} of {}", quantity(*times.money_high), quantity(*limits.budget)));
  candidate.standing = misses.empty() ? Standing::meets : Standing::misses;
  candidate.reason = fmt::format("{}", fmt::join(misses, "; "));
}

bool is_better(Goal goal, const Candidate& one, const Candidate& other) {
  const auto key = [&](const Candidate& candidate) {
    const double cost = candidate.times->cost();
    const double hours = candidate.times->wall_hours;
    return goal == Goal::cheapest ? std::tuple(cost, hours, candidate.n_gpus)
                                  : std::tuple(hours, cost, candidate.n_gpus);
  };
  return key(one) < key(other);
}

CandidateTimes least_times(const Question& question, const Candidate& candidate) {
  CandidateTimes times{.wall_hours = candidate.least_gpu_hours / candidate.n_gpus,
                       .gpu_days = candidate.least_gpu_hours / kHoursPerDay};
  if (const auto& price = question.offers[candidate.offer].gpu_hour_price)
    times.money = *price * candidate.least_gpu_hours;
  return times;
}

CandidateTimes times_of(const StrategyResult& run, const std::optional<double>& gpu_hour_price) {
  const RunTimes& times = *run.times;
  CandidateTimes result{.wall_hours = run.whole ? run.whole->wall_hours : times.wall_hours,
                        .gpu_days = run.whole ? run.whole->gpu_days : times.gpu_days};
  double low = 1;
  double high = 1;
  if (times.gpu_days_low > 0) {
    low = (run.whole ? run.whole->gpu_days_low : times.gpu_days_low) / result.gpu_days;
    high = (run.whole ? run.whole->gpu_days_high : times.gpu_days_high) / result.gpu_days;
  }
  if (run.failures) {
    result.wall_hours = run.failures->wall_hours;
    result.gpu_days = run.failures->gpu_days;
    const bool ends = std::isfinite(result.gpu_days);
    low = ends ? low * run.failures->gpu_days_p05 / result.gpu_days : 1;
    high = ends ? high * run.failures->gpu_days_p95 / result.gpu_days : 1;
  }
  result.wall_hours_low = low * result.wall_hours;
  result.wall_hours_high = high * result.wall_hours;
  result.gpu_days_low = low * result.gpu_days;
  result.gpu_days_high = high * result.gpu_days;
  if (gpu_hour_price) {
    const auto money = [&](double gpu_days) { return kHoursPerDay * gpu_days * *gpu_hour_price; };
    result.money = money(result.gpu_days);
    result.money_low = money(result.gpu_days_low);
    result.money_high = money(result.gpu_days_high);
  }
  return result;
}

}  // namespace packsim
