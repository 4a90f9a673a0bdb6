#include "experiment/results/job_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/results/grouped.hpp"

namespace packsim {
namespace {

// The run that the others must be like; null if no run trains anything.
const StrategyResult* reference_run(const Report& report) {
  const auto trains = [](const StrategyResult& run) { return run.iterations > 0; };
  const auto baseline = std::ranges::find(report.runs, report.baseline, &StrategyResult::name);
  if (baseline != report.runs.end() && trains(*baseline)) return &*baseline;
  const auto first = std::ranges::find_if(report.runs, trains);
  return first == report.runs.end() ? nullptr : &*first;
}

void compare_iterations(StrategyResult& run) {
  const IterationSizes& sizes = run.sizes;
  const std::string asked = grouped(sizes.size.asked_tokens);
  if (!sizes.has_asked_largest()) {
    run.differences.push_back(
        fmt::format("{} of {} iterations train more than {} tokens, for the {} of tokens_per_iteration; the "
                    "largest trains {}",
                    grouped(sizes.too_large), grouped(sizes.iterations), grouped(sizes.size.most_tokens()),
                    asked, grouped(sizes.largest_tokens)));
  }
  if (!sizes.has_asked_least()) {
    run.differences.push_back(
        fmt::format("{} of {} iterations train less than {} tokens, for the {} of tokens_per_iteration; the "
                    "mean is {}",
                    grouped(sizes.too_small), grouped(sizes.iterations), grouped(sizes.size.least_tokens()),
                    asked, grouped(std::llround(run.mean_iteration_tokens()))));
  }
  if (const double repeated = sizes.repeated_fraction(); repeated > kRepeatTolerance) {
    run.differences.push_back(
        fmt::format("repeats {:.1f} % of its tokens to fill last iterations (\"last_iteration\": \"shorten\" "
                    "trains them once)",
                    100 * repeated));
  }
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
    run.differences.push_back(fmt::format("cuts {} samples into pieces, {} cuts {}",
                                          grouped(run.counts.split_samples), reference.name,
                                          grouped(reference.counts.split_samples)));
  } else if (run.counts.longest_tokens != reference.counts.longest_tokens) {
    run.differences.push_back(fmt::format("trains samples of up to {} tokens, {} of up to {}",
                                          grouped(run.counts.longest_tokens), reference.name,
                                          grouped(reference.counts.longest_tokens)));
  }
}

// How a framework executes a step, but for what follows from the ZeRO stage.
ExecutionStyle own_style(const StrategyResult& run) {
  ExecutionStyle style = run.plan.execution;
  style.overlaps_states = false;
  return style;
}

void compare_execution(const StrategyResult& reference, StrategyResult& run) {
  if (run.plan.lora_rank != reference.plan.lora_rank) {
    run.differences.push_back(fmt::format("trains adapters of rank {}, {} of rank {} (0: all weights)",
                                          run.plan.lora_rank, reference.name, reference.plan.lora_rank));
  }
  if (run.plan.lora_targets != reference.plan.lora_targets)
    run.differences.push_back(fmt::format("has adapters beside other modules than {}", reference.name));
  if (run.plan.frozen_weights != reference.plan.frozen_weights ||
      run.plan.precision != reference.plan.precision) {
    run.differences.push_back(
        fmt::format("trains in another number format than {} (precision, frozen_weights)", reference.name));
  }
  if (own_style(run) != own_style(reference)) {
    run.differences.push_back(
        fmt::format("executes steps in another way than {} (its own keys of parallelism)", reference.name));
  }
  if (run.overlaps_states == reference.overlaps_states) return;
  // Both could have executed steps as the other does.
  const bool had_same_choice =
      !run.choice_of_zero_stages.empty() && run.choice_of_zero_stages == reference.choice_of_zero_stages;
  if (had_same_choice) return;
  const auto says = [](bool overlaps) {
    return overlaps ? "overlaps gradients and weights with computation" : "waits for gradients and weights";
  };
  run.differences.push_back(
      fmt::format("{}, {} {}", says(run.overlaps_states), reference.name, says(reference.overlaps_states)));
}

// Draws that are trained in another order than the mixture's, or are others.
void compare_draws(const StrategyResult& reference, StrategyResult& run) {
  if (!run.mixture) return;
  const StrategyMixture& mixture = *run.mixture;
  const std::string_view unknown = mixture.follows_rewards ? ", which nobody knows beforehand" : "";
  if (mixture.packs == "run" && mixture.moves) {
    run.differences.push_back(
        fmt::format("packs all draws of the run together, not in the order of the mixture{}", unknown));
  }
  if (mixture.plan == "run" && mixture.follows_rewards)
    run.differences.push_back("has a plan for all draws of the run, which nobody knows beforehand");
  if (mixture.packs == "pools" && (!reference.mixture || reference.mixture->packs != "pools"))
    run.differences.push_back(
        fmt::format("draws packs in place of samples, so other samples than {}", reference.name));
}

void compare_attention(const StrategyResult& reference, StrategyResult& run) {
  if (run.policies.attention == reference.policies.attention) return;
  const auto says = [](Attention attention) {
    return attention == Attention::across_samples ? "lets tokens attend to other samples of their pack"
                                                  : "keeps attention within samples";
  };
  run.differences.push_back(fmt::format("{}, {} {}", says(run.policies.attention), reference.name,
                                        says(reference.policies.attention)));
}

}  // namespace

void set_differences(Report& report) {
  const StrategyResult* reference = reference_run(report);
  if (reference == nullptr) return;
  const double data_tokens =
      static_cast<double>(report.lengths.n_tokens) * static_cast<double>(report.manifest.epochs);
  for (StrategyResult& run : report.runs) {
    if (run.iterations == 0) continue;
    compare_iterations(run);
    compare_tokens(data_tokens, *reference, run);
    compare_samples(*reference, run);
    compare_execution(*reference, run);
    compare_attention(*reference, run);
    compare_draws(*reference, run);
  }
}

}  // namespace packsim
