#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "experiment/results/time_ratio.hpp"
#include "files/text/printable.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/run_notes.hpp"
#include "reports/tables/search_rows.hpp"
#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
namespace {

// How many runs a sentence names before it counts the others.
constexpr std::size_t kMostNames = 5;

std::string names_text(std::vector<std::string> names) {
  if (names.size() > kMostNames) {
    const std::size_t n_more = names.size() - kMostNames;
    names.resize(kMostNames);
    names.push_back(fmt::format("and {} more", n_more));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string next_run(const Report& report, const StrategyResult& best) {
  const StrategyResult* next = fastest_run(report, &best);
  if (next == nullptr) return "";
  if (next->times->gpu_days <= best.times->gpu_days)
    return fmt::format("{} takes equally many GPU-days.", printable_name(next->name));
  const TimeRatio ratio = gpu_day_ratio(*next, best);
  return fmt::format(
      "{} is next with {} GPU-days{}, {} more{}.", printable_name(next->name),
      quantity(next->times->gpu_days), next->whole ? " of steps" : "", percent(ratio.value - 1),
      ratio.is_known()
          ? fmt::format(" (90%: {:+.1f}% to {:+.1f}%)", 100 * (ratio.low - 1), 100 * (ratio.high - 1))
          : "; the report has no intervals that say how sure that is");
}

// The runs that may be as fast as the best one.
std::string level_runs(const Report& report, const StrategyResult& best) {
  std::vector<const StrategyResult*> level;
  std::size_t n_others = 0;
  for (const StrategyResult& run : report.runs) {
    if (&run == &best || !is_comparable(run)) continue;
    ++n_others;
    if (gpu_day_ratio(run, best).may_be_1()) level.push_back(&run);
  }
  if (level.empty()) return "";
  if (level.size() == 1)
    return fmt::format("{} cannot be told apart from {} at 90%.", printable_name(level.front()->name),
                       printable_name(best.name));
  std::ranges::stable_sort(level, {}, [](const StrategyResult* run) { return run->times->gpu_days; });
  std::vector<std::string> names;
  for (const StrategyResult* run : level) names.push_back(printable_name(run->name));
  return fmt::format("{} of {} other runs cannot be told apart from {} at 90%: {}.", level.size(), n_others,
                     printable_name(best.name), names_text(names));
}

// The fastest run when something is added to its time, if that is another one than `best`.
std::string other_best(const Report& report, const StrategyResult& best, std::string_view with,
                       const std::function<std::optional<double>(const StrategyResult&)>& gpu_days) {
  const StrategyResult* fastest = nullptr;
  for (const StrategyResult& run : report.runs) {
    if (!is_comparable(run) || !gpu_days(run) || !std::isfinite(*gpu_days(run))) continue;
    if (fastest == nullptr || *gpu_days(run) < *gpu_days(*fastest)) fastest = &run;
  }
  const std::optional<double> of_best = gpu_days(best);
  if (fastest == nullptr || fastest == &best || !of_best || *of_best <= *gpu_days(*fastest)) return "";
  return fmt::format("With {}, {} is better: {} GPU-days, while {} {}.", with, printable_name(fastest->name),
                     quantity(*gpu_days(*fastest)), printable_name(best.name),
                     std::isfinite(*of_best) ? "takes " + quantity(*of_best) : "never finishes");
}

std::optional<double> with_failures(const StrategyResult& run) {
  return run.failures ? std::optional(run.failures->gpu_days) : std::nullopt;
}

std::optional<double> with_waits(const StrategyResult& run) {
  return run.planning ? run.planning->gpu_days : run.times->gpu_days;
}

std::string memory_text(const StrategyResult& best) {
  if (!may_not_fit(best)) return "";
  return fmt::format(
      "{} may not fit in GPU memory: the estimate may be wrong by more memory than it leaves free.",
      printable_name(best.name));
}

std::string faster_plan_text(const StrategyResult& best) {
  if (!best.search || !best.search->may_fit) return "";
  const SearchedPlan& other = *best.search->may_fit;
  return fmt::format(
      "With less GPU memory left free, another plan takes {} GPU-days, {} less, but may not fit: {}.",
      quantity(other.gpu_days), percent(1 - other.gpu_days / best.search->chosen.gpu_days),
      searched_text(other, best));
}

std::string searches_text(const Report& report) {
  std::vector<std::string> names;
  for (const StrategyResult& run : report.runs) {
    if (run.search && run.search->is_cut_short) names.push_back(printable_name(run.name));
  }
  if (names.empty()) return "";
  return fmt::format(
      "A time limit ended these searches, so better plans may exist, as good as the bound at most: {}.",
      names_text(names));
}

std::string prices_text(const StrategyResult& best) {
  const EvidenceShares& evidence = best.times->evidence;
  const double not_measured = evidence.extrapolated + evidence.transferred + evidence.missing;
  if (not_measured <= 0) return "";
  return fmt::format(
      "{} of the time of {} has prices that are extrapolated, scaled or guessed, not measured.",
      percent(not_measured), printable_name(best.name));
}

std::string largest_uncertainty_text(const StrategyResult& best) {
  if (!best.times->largest_uncertainty) return "";
  return fmt::format("The interval of {} is wide mainly because {}.", printable_name(best.name),
                     printable(*best.times->largest_uncertainty));
}

}  // namespace

std::vector<std::string> doubts_of(const Report& report, const StrategyResult& best) {
  std::vector<std::string> doubts;
  for (std::string& doubt :
       std::vector{memory_text(best), faster_plan_text(best), searches_text(report), next_run(report, best),
                   level_runs(report, best), other_best(report, best, "failures", with_failures),
                   other_best(report, best, "waits for plans", with_waits), prices_text(best),
                   largest_uncertainty_text(best)}) {
    if (!doubt.empty()) doubts.push_back(std::move(doubt));
  }
  return doubts;
}

std::string not_compared_sentence(const Report& report) {
  std::vector<std::string> runs;
  for (const StrategyResult& run : report.runs) {
    if (!is_comparable(run)) runs.push_back(printable_name(run.name) + " " + obstacle(run));
  }
  return runs.empty() ? "" : fmt::format("Not compared: {}.", names_text(runs));
}

}  // namespace packsim::formats_detail
