#include "reports/verdict/verdict.hpp"

#include <algorithm>
#include <utility>

#include "models/plan/plan_text.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

// The baseline, or if that is the best run or cannot be compared, the next fastest run.
const StrategyResult* compared_with(const Report& report, const StrategyResult& best) {
  const StrategyResult* baseline = baseline_run(report);
  if (baseline != nullptr && baseline != &best && is_comparable(*baseline)) return baseline;
  return fastest_run(report, &best);
}

VerdictAmount gpu_days_of(const RunTimes& times) {
  if (times.gpu_days_low <= 0) return {.value = times.gpu_days};
  return {.value = times.gpu_days, .low = times.gpu_days_low, .high = times.gpu_days_high};
}

void set_numbers(const StrategyResult& best, Verdict& verdict) {
  verdict.gpu_days = gpu_days_of(*best.times);
  verdict.wall_hours = best.times->wall_hours;
  verdict.mfu_fraction = best.times->utilisation.mfu_fraction;
  if (best.cost && best.cost->money)
    verdict.money = {.value = *best.cost->money, .low = best.cost->money_low, .high = best.cost->money_high};
  if (best.bound) verdict.above_bound_fraction = best.bound->above_fraction;
}

}  // namespace

Verdict verdict(const Report& report) {
  Verdict verdict;
  const StrategyResult* best = fastest_run(report);
  if (best == nullptr) {
    verdict.headline = no_best_headline(report);
    return verdict;
  }
  verdict.best = best->name;
  Decision decision = decide(report, *best);
  verdict.advised = decision.run->name;
  verdict.decision = std::move(decision.sentence);
  verdict.headline = best_headline(report, *best);
  verdict.cost = cost_sentence(*best) + trainer_sentence(report, *best);
  verdict.settings = plan_text(best->plan) + ".";
  verdict.groups = shown_groups(*best);
  verdict.doubts = doubts_of(report, *best);
  verdict.not_compared = not_compared_sentence(report);
  set_numbers(*best, verdict);
  if (const StrategyResult* other = compared_with(report, *best); other != nullptr) {
    verdict.other = other->name;
    verdict.why = why_sentence(*best, *other) + split_sentence(report, *best);
    verdict.savings = savings_of(*best, *other);
  }
  return verdict;
}

std::vector<std::vector<std::string>> setting_rows(const Verdict& verdict) {
  if (verdict.groups.empty()) return {};
  std::vector<std::vector<std::string>> rows = {
      {"packs up to", "SP", "CP", "GC layers", "ZeRO", "DP ranks", "micro-batches"}};
  const auto has_packs = [](const ShownGroup& shown) { return shown.group.packs > 0; };
  const bool any_has_packs = std::ranges::any_of(verdict.groups, has_packs);
  for (const ShownGroup& shown : verdict.groups) {
    const PlannedGroup& group = shown.group;
    if (any_has_packs && !has_packs(shown)) continue;  // it trains nothing
    rows.push_back({shown.capacity, grouped(group.sequence.ulysses), grouped(group.sequence.ring),
                    shown.gc_layers, grouped(group.zero_stage), grouped(group.n_dp_ranks),
                    group.micro_batches_per_rank ? grouped(*group.micro_batches_per_rank) : "varies"});
  }
  return rows;
}

}  // namespace packsim
