#include "experiment/results/job_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace packsim {
namespace {

constexpr double kIterationTolerance = 0.1;
constexpr double kDataTolerance = 0.005;

// The run that the others must be like; null if no run trains anything.
const StrategyResult* reference_run(const Report& report) {
  const auto trains = [](const StrategyResult& run) { return run.iterations > 0; };
  const auto baseline = std::ranges::find(report.runs, report.baseline, &StrategyResult::name);
  if (baseline != report.runs.end() && trains(*baseline)) return &*baseline;
  const auto first = std::ranges::find_if(report.runs, trains);
  return first == report.runs.end() ? nullptr : &*first;
}

double mean_iteration_tokens(const StrategyResult& run) {
  return static_cast<double>(run.counts.trained_tokens) / static_cast<double>(run.iterations);
}

void compare_iterations(const RunManifest& manifest, StrategyResult& run) {
  if (has_asked_iterations(manifest, run)) return;
  run.differences.push_back(
      fmt::format("iterations train {:.0f} tokens on average, not the {} of tokens_per_iteration",
                  mean_iteration_tokens(run), manifest.tokens_per_iteration));
}

void compare_tokens(double data_tokens, const StrategyResult& reference, StrategyResult& run) {
  const double more =
      static_cast<double>(run.counts.unrepeated_tokens() - reference.counts.unrepeated_tokens()) /
      data_tokens;
  if (std::abs(more) <= kDataTolerance) return;
  run.differences.push_back(fmt::format("trains {:.1f} % of the data {} than {}", 100 * std::abs(more),
                                        more > 0 ? "more" : "less", reference.name));
}

void compare_samples(const StrategyResult& reference, StrategyResult& run) {
  if (run.counts.split_samples != reference.counts.split_samples) {
    run.differences.push_back(fmt::format("cuts {} samples into pieces, {} cuts {}", run.counts.split_samples,
                                          reference.name, reference.counts.split_samples));
  } else if (run.counts.longest_tokens != reference.counts.longest_tokens) {
    run.differences.push_back(fmt::format("trains samples of up to {} tokens, {} of up to {}",
                                          run.counts.longest_tokens, reference.name,
                                          reference.counts.longest_tokens));
  }
}

void compare_execution(const StrategyResult& reference, StrategyResult& run) {
  if (run.overlaps_states == reference.overlaps_states) return;
  const auto says = [](bool overlaps) {
    return overlaps ? "overlaps gradients and weights with computation" : "waits for gradients and weights";
  };
  run.differences.push_back(
      fmt::format("{}, {} {}", says(run.overlaps_states), reference.name, says(reference.overlaps_states)));
}

}  // namespace

bool has_asked_iterations(const RunManifest& manifest, const StrategyResult& run) {
  if (run.iterations == 0) return false;
  const auto asked_tokens = static_cast<double>(manifest.tokens_per_iteration);
  if (std::abs(mean_iteration_tokens(run) - asked_tokens) <= kIterationTolerance * asked_tokens) return true;
  // In a job of few iterations those that are not full weigh more: the last one of each epoch or, if
  // iterations consist of packs of one group, of each group and epoch.
  const double asked_iterations = static_cast<double>(run.counts.trained_tokens) / asked_tokens;
  const auto n_own = std::ranges::count_if(
      run.groups, [](const PlannedGroup& group) { return group.micro_batches_per_rank.has_value(); });
  const auto n_last = static_cast<double>(manifest.epochs * std::max<std::int64_t>(1, n_own));
  return std::abs(static_cast<double>(run.iterations) - asked_iterations) <= n_last;
}

void set_differences(Report& report) {
  const StrategyResult* reference = reference_run(report);
  if (reference == nullptr) return;
  const double data_tokens =
      static_cast<double>(report.lengths.n_tokens) * static_cast<double>(report.manifest.epochs);
  for (StrategyResult& run : report.runs) {
    if (run.iterations == 0) continue;
    compare_iterations(report.manifest, run);
    compare_tokens(data_tokens, *reference, run);
    compare_samples(*reference, run);
    compare_execution(*reference, run);
  }
}

}  // namespace packsim
