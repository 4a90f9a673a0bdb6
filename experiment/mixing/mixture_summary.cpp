#include "experiment/mixing/mixture_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiment/results/length_summary.hpp"

namespace packsim {
namespace {

constexpr std::size_t kMostTimes = 20;

std::vector<std::string> assumptions_of(const Scenario& scenario) {
  const MixingSpec& spec = *scenario.mixing;
  const MixingPolicy& policy = known_mixing_policy(spec.policy);
  std::vector<std::string> texts;
  texts.push_back(
      fmt::format("Probabilities stand still for the draws of {} steps, counted as {} tokens each; every "
                  "strategy trains the "
                  "same draws, but those that draw packs from pools.",
                  spec.update_every_steps, scenario.training.tokens_per_iteration));
  if (policy.name == "recorded") {
    texts.push_back(fmt::format(
        "Probabilities are those of {}: other data or another model would move them otherwise.", spec.trace));
  }
  if (policy.needs == RewardNeed::none) return texts;
  if (!spec.rewards.empty()) {
    texts.push_back(fmt::format(
        "Rewards are those that {} records of another training, whatever is drawn here.", spec.trace));
  } else {
    texts.push_back(
        "Rewards are assumed: they follow the declared learning curves by the draws of each arm. No training "
        "was "
        "observed, so the probabilities show what such rewards would do, not what this data will do.");
  }
  if (policy.needs == RewardNeed::training_loss) {
    texts.push_back("Losses come from training itself and cost nothing.");
    return texts;
  }
  texts.push_back(fmt::format(
      "An update measures {} sample{} of each group forward and backward and {} forward{}; the perplexities "
      "of the "
      "start are not counted.",
      spec.probes.gradient_samples, spec.probes.gradient_samples == 1 ? "" : "s",
      spec.probes.perplexity_samples,
      spec.probes.perplexity_times == 1 ? "" : fmt::format(", {} times", spec.probes.perplexity_times)));
  if (spec.probes.actor_update_s == 0)
    texts.push_back("Updating the actors takes no time (probes.actor_update_s).");
  return texts;
}

std::vector<std::int64_t> times_drawn(const MixedDraws& draws) {
  std::vector<std::int64_t> times(draws.sample_lengths_tokens.size(), 0);
  for (const std::uint32_t sample : draws.samples) ++times[sample];
  return times;
}

MixtureSummary::Group group_of(const MixedDraws& draws, std::size_t arm,
                               const std::vector<std::int64_t>& times) {
  MixtureSummary::Group group;
  for (const std::uint32_t sample : draws.arms.samples(arm)) {
    ++group.n_samples;
    group.n_tokens += draws.sample_lengths_tokens[sample];
    group.n_draws += times[sample];
    group.never_drawn_samples += times[sample] == 0 ? 1 : 0;
  }
  group.mean_tokens = static_cast<double>(group.n_tokens) / static_cast<double>(group.n_samples);
  return group;
}

MixtureSummary::Window window_of(const MixedDraws& draws, const MixtureWindow& window) {
  const LengthSummary lengths =
      summarize_lengths(std::span(draws.lengths_tokens).subspan(window.first_draw, window.n_draws));
  return {.first_step = window.first_step,
          .n_draws = lengths.n_samples,
          .n_tokens = lengths.n_tokens,
          .median_tokens = lengths.median_tokens,
          .p99_tokens = lengths.p99_tokens,
          .longest_tokens = lengths.longest_tokens,
          .probabilities = window.probabilities,
          .rewards = window.rewards};
}

}  // namespace

MixtureSummary summarize_mixture(const Scenario& scenario, const MixedDraws& draws) {
  const MixingPolicy& policy = known_mixing_policy(scenario.mixing->policy);
  MixtureSummary summary{
      .policy = std::string(policy.name),
      .policy_summary = std::string(policy.summary),
      .policy_source = std::string(policy.source),
      .assumptions = assumptions_of(scenario),
      .update_every_steps = scenario.mixing->update_every_steps,
      .n_updates = std::ranges::count_if(
          draws.windows, [](const MixtureWindow& window) { return window.rewards.has_value(); }),
      .n_draws = std::ssize(draws.samples),
      .subsets = {},
      .windows = {},
      .samples_by_draws = {}};
  const std::vector<std::int64_t> times = times_drawn(draws);
  for (std::size_t subset = 0; subset < draws.arms.n_subsets(); ++subset) {
    MixtureSummary::Subset& made = summary.subsets.emplace_back();
    made.name = scenario.lengths.mix[subset].name;
    for (std::size_t group = 0; group < draws.arms.n_groups(subset); ++group)
      made.groups.push_back(group_of(draws, draws.arms.arm(subset, group), times));
  }
  for (const MixtureWindow& window : draws.windows) summary.windows.push_back(window_of(draws, window));
  const std::int64_t most = *std::ranges::max_element(times);
  summary.samples_by_draws.assign(std::min(static_cast<std::size_t>(most), kMostTimes) + 1, 0);
  for (const std::int64_t n : times) {
    ++summary.samples_by_draws[std::min(static_cast<std::size_t>(n), kMostTimes)];
    summary.never_drawn_samples += n == 0 ? 1 : 0;
    summary.repeated_draws += std::max<std::int64_t>(0, n - 1);
  }
  return summary;
}

}  // namespace packsim
