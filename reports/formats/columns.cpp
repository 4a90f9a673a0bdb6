#include "reports/formats/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "reports/formats/numbers.hpp"

namespace packsim::formats_detail {
namespace {

using Run = StrategyResult;

// A run that does not fit in memory has no times.
template <double Run::*member>
std::string time_text(const Run& run) {
  return run.feasible ? quantity(run.*member) : "OOM";
}

template <double Run::*member>
std::string ratio_text(const Run& run) {
  return ratio(run.*member);
}

template <std::int64_t Run::*member>
std::string count_text(const Run& run) {
  return grouped(run.*member);
}

template <std::int64_t Run::*member>
std::string tokens_text(const Run& run) {
  return token_count(run.*member);
}

std::string ave_t_text(const Run& run) {
  return std::isfinite(run.ave_t_tokens) ? grouped(std::llround(run.ave_t_tokens)) : "-";
}

std::string interval_text(const Run& run) {
  if (!run.feasible) return "OOM";
  if (!std::isfinite(run.gpu_days_low) || run.gpu_days_low <= 0) return "-";
  return fmt::format("{:.0f}%", 100 * (std::sqrt(run.gpu_days_high / run.gpu_days_low) - 1));
}

std::string guess_text(const Run& run) {
  if (!run.feasible) return "OOM";
  const double share = run.extrapolated_fraction + run.guessed_fraction;
  return std::isfinite(share) ? fmt::format("{:.0f}%", 100 * share) : "-";
}

std::string speedup_text(const Run& run) {
  if (!run.feasible) return "OOM";
  return std::isfinite(run.speedup) && run.speedup > 0 ? fmt::format("{:.2f}x", run.speedup) : "-";
}

std::string above_bound_text(const Run& run) {
  if (!run.feasible) return "OOM";
  return std::isfinite(run.above_bound_fraction) ? fmt::format("{:+.1f}%", 100 * run.above_bound_fraction)
                                                 : "-";
}

std::string variability_cost_text(const Run& run) {
  if (!run.feasible) return "OOM";
  const double cost = run.gpu_days / run.gpu_days_without_variability - 1;
  return std::isfinite(cost) ? fmt::format("{:+.1f}%", 100 * cost) : "-";
}

std::string failures_interval_text(const Run& run) {
  if (!run.feasible) return "OOM";
  if (!std::isfinite(run.gpu_days_with_failures_p95)) return "-";
  return quantity(run.gpu_days_with_failures_p05) + " to " + quantity(run.gpu_days_with_failures_p95);
}

std::string effective_text(const Run& run) {
  return run.feasible ? percent(run.effective_fraction) : "OOM";
}

constexpr std::string_view kVariabilityGroup = "Variability";
constexpr std::string_view kPlanningGroup = "Planning";
constexpr std::string_view kOrderGroup = "Order";
constexpr std::string_view kFailuresGroup = "Failures";

bool has_planning(const Run& run) {
  return std::isfinite(run.gpu_days_with_planning);
}

bool has_order(const Run& run) {
  return std::isfinite(run.mean_move_iterations);
}

std::string mean_move_text(const Run& run) {
  return has_order(run) ? quantity(run.mean_move_iterations) : "-";
}

std::string largest_move_text(const Run& run) {
  return has_order(run) ? grouped(std::llround(run.largest_move_iterations)) : "-";
}

std::span<const Column> all_columns() {
  static constexpr Column kColumns[] = {
      {"packs", "Schedule", "packs", "", "Packs of one epoch, over all groups.", count_text<&Run::packs>},
      {"iterations", "Schedule", "iterations", "", "Optimizer steps over all epochs.",
       count_text<&Run::iterations>},
      {"ave_t_tokens", "Schedule", "Ave-T", "tokens",
       "Mean tokens of a DP rank in an iteration, its micro-batches summed, padding not counted.",
       ave_t_text},
      {"abr", "Balance", "ABR", "",
       "Attention balance ratio: the share of attention time that DP ranks wait for the busiest one, "
       "sum(max - work) / (ranks x max). Computed per iteration, mean over iterations. 0 is balanced. "
       "Work is the data's, padding not counted.",
       ratio_text<&Run::abr>},
      {"abr_slots", "Balance", "ABR slots", "",
       "ABR over GPU slots as wide as the widest SP degree of the run instead of DP ranks, the work inside a "
       "slot summed. Mean over iterations.",
       ratio_text<&Run::abr_slots>},
      {"dbr", "Balance", "DBR", "",
       "Distance balance ratio: ABR with tokens in place of attention work, over DP ranks, mean over "
       "iterations.",
       ratio_text<&Run::dbr>},
      {"cr", "Balance", "CR", "",
       "Communication ratio: the share of trained tokens in groups with an SP degree above 1, which pay for "
       "all-to-all.",
       ratio_text<&Run::cr>},
      {"pr", "Balance", "PR", "",
       "Padding ratio: padding tokens over all computed tokens of the run, one ratio of sums.",
       ratio_text<&Run::pr>},
      {"step_mean_s", "Time", "step", "s", "Simulated time of an optimizer step, mean over iterations.",
       time_text<&Run::step_mean_s>},
      {"step_p99_s", "Time", "p99", "s", "The step time that 99% of the iterations do not exceed.",
       time_text<&Run::step_p99_s>},
      {"gpu_days", "Time", "GPU-days", "", "Wall time of the whole run times the number of GPUs.",
       time_text<&Run::gpu_days>},
      {"gpu_days_90", "Time", "90%", "",
       "Nine runs of ten take GPU-days within so much more or less than the estimate, by how well the "
       "framework profile and the prices of kernels are known. Runs of one report err together: their ratios "
       "are better known.",
       interval_text},
      {"guess", "Time", "guess", "",
       "The share of the time of kernels and exposed exchange whose prices are extrapolated from what was "
       "measured, or guessed.",
       guess_text},
      {"wall_hours", "Time", "wall", "h", "Simulated time of the whole run, all epochs.",
       time_text<&Run::wall_hours>},
      {"speedup", "Time", "speed-up", "",
       "Wall time of the baseline over that of the run; above 1 is faster.", speedup_text},
      {"above_bound_fraction", "Time", "bound", "",
       "How much more GPU time the run takes than the least that any packing and schedule of its samples "
       "could, each sample whole and on the same GPUs: nothing is left to gain at 0%.",
       above_bound_text},
      {"variability", kVariabilityGroup, "variability", "",
       "How much longer the run takes than on GPUs and kernels that all take what the cost model says.",
       variability_cost_text},
      {"planning_exposed_s", kPlanningGroup, "plan wait", "s",
       "Mean time of an iteration that the GPUs wait for its plan, where a planner beside the training "
       "needs so long as the scenario says. No other time has it.",
       time_text<&Run::planning_exposed_s>},
      {"gpu_days_with_planning", kPlanningGroup, "+ planning", "GPU-days", "GPU-days with these waits.",
       time_text<&Run::gpu_days_with_planning>},
      {"gpu_days_with_failures", kFailuresGroup, "+ failures", "GPU-days",
       "GPU-days that are to be expected with failures, restarts and checkpoints, spare units included. All "
       "other times are without these.",
       time_text<&Run::gpu_days_with_failures>},
      {"gpu_days_with_failures_90", kFailuresGroup, "5 to 95%", "GPU-days",
       "5 % of runs take less GPU-days with failures, 5 % more, by the luck of the failures alone.",
       failures_interval_text},
      {"expected_failures", kFailuresGroup, "failures", "", "Failures that are to be expected.",
       time_text<&Run::expected_failures>},
      {"checkpoint_interval_s", kFailuresGroup, "checkpoint", "s",
       "Work between checkpoints: the scenario's, or the interval with the least expected time.",
       time_text<&Run::checkpoint_interval_s>},
      {"effective_fraction", kFailuresGroup, "effective", "",
       "The share of the expected time that is work which lasts; the rest is checkpoints, restarts and lost "
       "work.",
       effective_text},
      {"mean_move_iterations", kOrderGroup, "moved", "iterations",
       "How far samples are from the iteration of their place in the seeded shuffle, the mean over all of "
       "them. Of strategies that form whole iterations; others shuffle packs.",
       mean_move_text},
      {"largest_move_iterations", kOrderGroup, "farthest", "iterations", "How far any sample is from there.",
       largest_move_text},
      {"dropped_tokens", "Data", "dropped", "tokens",
       "Tokens never trained: over-long samples left out, and packs left out of last iterations. All epochs.",
       tokens_text<&Run::dropped_tokens>},
      {"truncated_tokens", "Data", "cut off", "tokens", "Tokens cut off over-long samples. All epochs.",
       tokens_text<&Run::truncated_tokens>},
      {"padded_tokens", "Data", "padded", "tokens", "Padding tokens computed. All epochs.",
       tokens_text<&Run::padded_tokens>},
      {"repeated_tokens", "Data", "repeated", "tokens",
       "Tokens trained more than once an epoch to fill last iterations. All epochs.",
       tokens_text<&Run::repeated_tokens>},
  };
  return kColumns;
}

}  // namespace

std::vector<Column> columns(const Report& report) {
  std::vector<Column> shown;
  for (const Column& column : all_columns()) {
    if (column.group == kVariabilityGroup && !report.manifest.variability.any()) continue;
    if (column.group == kPlanningGroup && std::ranges::none_of(report.runs, has_planning)) continue;
    if (column.group == kOrderGroup && std::ranges::none_of(report.runs, has_order)) continue;
    if (column.group == kFailuresGroup && !report.manifest.failures) continue;
    shown.push_back(column);
  }
  return shown;
}

}  // namespace packsim::formats_detail
