#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "files/text/printable.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
namespace {

// Half the width of a run's 90 % interval, in logarithms; 0 where it is not known.
double log_half_width(const RunTimes& times) {
  return times.gpu_days_low > 0 ? std::log(times.gpu_days_high / times.gpu_days_low) / 2 : 0;
}

// The 90 % interval of a ratio is as wide as the difference of both intervals if their errors are the same
// one, and as their root of squares if the errors have nothing in common. The truth is between the two.
std::string certainty_of_order(const StrategyResult& best, const StrategyResult& next) {
  const double a = log_half_width(*best.times);
  const double b = log_half_width(*next.times);
  const double distance = std::log(next.times->gpu_days / best.times->gpu_days);
  if (a <= 0 || b <= 0) return "The report has no intervals that say how sure this order is";
  if (distance > std::hypot(a, b)) return "Their 90% intervals rule out that it is faster";
  if (distance < std::abs(a - b))
    return "Their 90% intervals allow that it is faster, whatever error the two share";
  return fmt::format(
      "{} could be the faster one only if the two runs' errors were independent. Runs of one report share "
      "most of their error",
      printable_name(next.name));
}

std::string next_run(const Report& report, const StrategyResult& best) {
  const StrategyResult* next = fastest_run(report, &best);
  if (next == nullptr) return "";
  if (next->times->gpu_days <= best.times->gpu_days)
    return fmt::format("{} takes equally many GPU-days.", printable_name(next->name));
  return fmt::format("{} is next with {} GPU-days, {} more. {}.", printable_name(next->name),
                     quantity(next->times->gpu_days),
                     percent(next->times->gpu_days / best.times->gpu_days - 1),
                     certainty_of_order(best, *next));
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
       std::vector{next_run(report, best), other_best(report, best, "failures", with_failures),
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
  return runs.empty() ? "" : fmt::format("Not compared: {}.", fmt::join(runs, ", "));
}

}  // namespace packsim::formats_detail
