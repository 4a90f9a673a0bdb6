#include "reports/tables/conclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

std::int64_t untrained_tokens(const StrategyResult& run) {
  return run.counts.dropped_tokens + run.counts.truncated_tokens;
}

// A run can be fast because it leaves data out or cuts documents up; a sentence that calls it fast has to say
// so. `other`: what it is compared with, null for nothing.
std::string data_caveat(const StrategyResult& fast, const StrategyResult* other) {
  std::vector<std::string> caveats;
  const std::int64_t more_tokens = untrained_tokens(fast) - (other == nullptr ? 0 : untrained_tokens(*other));
  if (more_tokens > 0) {
    caveats.push_back(fmt::format("leaves {}{} tokens untrained", token_count(more_tokens),
                                  other == nullptr ? "" : " more"));
  }
  if (fast.counts.split_samples > (other == nullptr ? 0 : other->counts.split_samples)) {
    caveats.push_back(fmt::format("cuts {} samples into pieces", grouped(fast.counts.split_samples)));
  }
  return caveats.empty() ? "." : fmt::format(", but {} {}.", fast.name, fmt::join(caveats, " and "));
}

// The fastest run besides `excluded` among those that train the job that was asked for.
const StrategyResult* fastest_besides(const Report& report, const StrategyResult* excluded) {
  const StrategyResult* fastest = nullptr;
  for (const StrategyResult& run : report.runs) {
    if (&run == excluded || !has_time(run) || !run.differences.empty()) continue;
    if (fastest == nullptr || run.times->gpu_days < fastest->times->gpu_days) fastest = &run;
  }
  return fastest;
}

}  // namespace

bool has_time(const StrategyResult& run) {
  return run.times && run.times->gpu_days > 0;
}

const StrategyResult* baseline_run(const Report& report) {
  for (const StrategyResult& run : report.runs) {
    if (run.name == report.baseline) return &run;
  }
  return nullptr;
}

const StrategyResult* fastest_run(const Report& report) {
  return fastest_besides(report, nullptr);
}

namespace {

// Why a run is not compared; continues its name.
std::string obstacle(const StrategyResult& run) {
  if (run.failure) return "failed";
  if (!run.feasible) return "does not fit in memory";
  if (!has_time(run)) return "has no iteration";
  return "trains another job";
}

std::string why_none_wins(const Report& report) {
  if (std::ranges::none_of(report.runs, &StrategyResult::feasible)) return "No run fits in GPU memory.";
  if (std::ranges::none_of(report.runs, has_time)) return "No run has an iteration.";
  const auto first = std::ranges::find_if(report.runs, has_time);
  return fmt::format(
      "No run is called the fastest, because none trains the job that was asked for ({}: {}{}).", first->name,
      fmt::join(first->differences, "; "),
      report.runs.size() == 1 ? "" : "; the reasons of the others are below the table");
}

std::string verdict(const Report& report) {
  if (report.runs.empty()) return "Nothing was compared.";
  const StrategyResult* winner = fastest_run(report);
  if (winner == nullptr) return why_none_wins(report);
  const StrategyResult* baseline = baseline_run(report);
  if (baseline == nullptr || !has_time(*baseline) || !baseline->differences.empty()) {
    const std::string reason =
        baseline == nullptr ? "" : fmt::format("; the baseline {} {}", baseline->name, obstacle(*baseline));
    return fmt::format("{} takes the least of what fits, {} GPU-days{}{}", winner->name,
                       quantity(winner->times->gpu_days), reason, data_caveat(*winner, nullptr));
  }
  if (winner != baseline) {
    return fmt::format("{} is {:.2f}x faster than {}: {} vs {} GPU-days{}", winner->name,
                       winner->speedup.value(), baseline->name, quantity(winner->times->gpu_days),
                       quantity(baseline->times->gpu_days), data_caveat(*winner, baseline));
  }
  const StrategyResult* next = fastest_besides(report, baseline);
  if (next == nullptr) {
    return fmt::format("{} takes {} GPU-days, {} h of wall time.", winner->name,
                       quantity(winner->times->gpu_days), quantity(winner->times->wall_hours));
  }
  return fmt::format("Nothing is faster than the baseline {}: {} GPU-days; {} follows with {} ({:.2f}x){}",
                     winner->name, quantity(winner->times->gpu_days), next->name,
                     quantity(next->times->gpu_days), next->speedup.value(), data_caveat(*winner, next));
}

// What the fastest run takes with failures; nothing where there are none.
std::string with_failures(const Report& report) {
  const StrategyResult* winner = fastest_run(report);
  if (winner == nullptr || !winner->failures) return "";
  const FailureCost& cost = *winner->failures;
  if (!std::isfinite(cost.gpu_days))
    return fmt::format(" With failures {} would never finish: they come faster than it makes progress.",
                       winner->name);
  return fmt::format(" With failures {} takes {} GPU-days ({} to {} in 90 % of runs).", winner->name,
                     quantity(cost.gpu_days), quantity(cost.gpu_days_p05), quantity(cost.gpu_days_p95));
}

// How well the fastest run uses its GPUs.
std::string how_well_used(const Report& report) {
  const StrategyResult* winner = fastest_run(report);
  if (winner == nullptr || winner->times->utilisation.tokens_per_s_per_gpu <= 0) return "";
  const Utilisation& used = winner->times->utilisation;
  std::string text = fmt::format(" It trains {} tokens/s on each GPU, {} TFLOP/s of the model",
                                 grouped(std::llround(used.tokens_per_s_per_gpu)),
                                 quantity(1e-12 * used.model_flop_per_s_per_gpu));
  if (used.mfu_fraction && used.hfu_fraction)
    text += fmt::format(" ({} MFU, {} HFU)", percent(*used.mfu_fraction), percent(*used.hfu_fraction));
  return text + ".";
}

}  // namespace

std::string conclusion(const Report& report) {
  return verdict(report) + how_well_used(report) + with_failures(report);
}

std::string memory_excess(const StrategyResult& run) {
  const PlannedGroup* worst = nullptr;
  const auto excess_bytes = [](const PlannedGroup& group) {
    return group.peak_memory_bytes - group.gpu_memory_bytes;
  };
  for (const PlannedGroup& group : run.groups) {
    if (group.feasible) continue;
    if (worst == nullptr || excess_bytes(group) > excess_bytes(*worst)) worst = &group;
  }
  if (worst == nullptr) return "";
  return fmt::format("group {} needs {} ({} GiB too much)", capacity(worst->capacity_tokens),
                     gibibytes_used(worst->peak_memory_bytes, worst->gpu_memory_bytes),
                     gibibytes(excess_bytes(*worst)));
}

std::string policies(const StrategyResult& run) {
  const std::string text = fmt::format(
      "order {}; last iteration {}; padding {}; over-long {}", policy_name(kPackOrderNames, run.order),
      policy_name(kLastIterationNames, run.last_iteration), policy_name(kPaddingNames, run.padding),
      policy_name(kOverLongNames, run.over_long));
  return run.attention == Attention::across_samples ? text + "; attention across samples" : text;
}

}  // namespace packsim::formats_detail
