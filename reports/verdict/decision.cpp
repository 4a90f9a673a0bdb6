#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "experiment/results/time_ratio.hpp"
#include "files/text/printable.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
namespace {

// A run that takes more GPU-days than this times those of the best is not as good, however wide its interval.
constexpr double kAsGood = 1.05;
// The gain is in the plan if it makes at least this part of it.
constexpr double kMostlyFraction = 0.8;

// What a trainer has to be told for a run. Less is simpler.
struct Effort {
  std::size_t n_lengths = 0;                  // of packs
  std::vector<std::string_view> parallelism;  // kinds of model parallelism
  bool micro_batches_vary = false;

  auto rank() const { return std::tuple(n_lengths, parallelism.size(), micro_batches_vary); }
};

Effort effort_of(const StrategyResult& run) {
  Effort effort;
  bool has_sp = false;
  bool has_cp = false;
  for (const PlannedGroup& group : run.groups) {
    if (group.packs == 0) continue;
    ++effort.n_lengths;
    has_sp = has_sp || group.sequence.ulysses > 1;
    has_cp = has_cp || group.sequence.ring > 1;
    effort.micro_batches_vary = effort.micro_batches_vary || !group.micro_batches_per_rank;
  }
  for (const auto& [is_used, name] : {std::pair(has_sp, "SP"),
                                      {has_cp, "CP"},
                                      {run.plan.tp_degree > 1, "TP"},
                                      {run.plan.pp_degree > 1, "PP"},
                                      {run.plan.ep_degree > 1, "EP"}}) {
    if (is_used) effort.parallelism.emplace_back(name);
  }
  return effort;
}

// "1 pack length instead of 4, no CP"
std::string simpler_text(const Effort& simple, const Effort& other) {
  std::vector<std::string> reasons;
  if (simple.n_lengths < other.n_lengths)
    reasons.push_back(fmt::format("{} instead of {}",
                                  counted(static_cast<std::int64_t>(simple.n_lengths), "pack length"),
                                  other.n_lengths));
  std::vector<std::string_view> spared;
  for (const std::string_view kind : other.parallelism) {
    if (std::ranges::find(simple.parallelism, kind) == simple.parallelism.end()) spared.push_back(kind);
  }
  if (!spared.empty()) reasons.push_back(fmt::format("no {}", fmt::join(spared, " and ")));
  if (other.micro_batches_vary && !simple.micro_batches_vary)
    reasons.emplace_back("the same number of micro-batches in every step");
  return fmt::format("{}", fmt::join(reasons, ", "));
}

// "hbp" or "isf, the baseline"
std::string titled(const Report& report, const StrategyResult& run) {
  return printable_name(run.name) + (run.name == report.baseline ? ", the baseline" : "");
}

std::string plan_gain(const Report& report, const StrategyResult& best) {
  const std::optional<GainSplit> split = gain_split(report, best);
  if (!split || split->by_plan_gpu_days < kMostlyFraction * split->gpu_days()) return "";
  return fmt::format(" Most of the gain over {} comes from the plan, not from packing.",
                     printable_name(split->given->name));
}

}  // namespace

Decision decide(const Report& report, const StrategyResult& best) {
  std::size_t n_others = 0;
  std::size_t n_level = 0;
  const StrategyResult* simplest = &best;
  const auto rank = [&](const StrategyResult& run) {
    return std::tuple(effort_of(run).rank(), run.name != report.baseline, run.times->gpu_days);
  };
  for (const StrategyResult& run : report.runs) {
    if (&run == &best || !is_comparable(run)) continue;
    const TimeRatio ratio = gpu_day_ratio(run, best);
    if (!ratio.is_known()) return {&best, ""};
    ++n_others;
    if (!ratio.may_be_1()) continue;
    ++n_level;
    if (ratio.value <= kAsGood && rank(run) < rank(*simplest)) simplest = &run;
  }
  if (n_others == 0) return {&best, ""};
  const std::string run = fmt::format("Run {}", titled(report, *simplest));
  const std::string gain = plan_gain(report, best);
  if (n_level == 0) {
    const std::string others = n_others == 1 ? "the other one" : fmt::format("all {} others", n_others);
    return {&best, fmt::format("{}: it is faster than {} at 90%.{}", run, others, gain)};
  }
  if (simplest == &best) return {&best, fmt::format("{}: no simpler run is as good.{}", run, gain)};
  const std::string reasons = simpler_text(effort_of(*simplest), effort_of(best));
  return {simplest,
          fmt::format("{}: it cannot be told apart from {}, the fastest, at 90%, and {}.{}", run,
                      printable_name(best.name),
                      reasons.empty() ? "is as simple" : fmt::format("is simpler ({})", reasons), gain)};
}

}  // namespace packsim::formats_detail
