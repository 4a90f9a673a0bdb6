#include "experiment/mixing/mixed_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace packsim {
namespace {

// The assumed rewards of arms, by how often they have been drawn.
class AssumedRewards {
 public:
  // Throws std::invalid_argument for an arm without a curve, and for curves of groups that no subset has.
  AssumedRewards(const std::vector<RewardCurve>& curves, const LengthSpec& lengths, const Arms& arms)
      : curves_(arms.n_arms()) {
    for (const RewardCurve& curve : curves) {
      bool holds = false;
      for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset) {
        for (std::size_t group = 0; group < arms.n_groups(subset); ++group) {
          if (curve.subset.value_or(subset) != subset) continue;
          if (curve.group && static_cast<std::size_t>(*curve.group) != group) continue;
          curves_[arms.arm(subset, group)] = curve;
          holds = true;
        }
      }
      if (!holds)
        throw std::invalid_argument(
            fmt::format("curves: expected groups of the subset, got group {}", curve.group.value_or(0)));
    }
    for (std::size_t arm = 0; arm < curves_.size(); ++arm) {
      if (curves_[arm]) continue;
      const std::size_t subset = arms.subset_of_arm(arm);
      throw std::invalid_argument(
          fmt::format("curves: expected one for each arm, got none for group {} of \"{}\"",
                      arm - arms.arm(subset, 0), lengths.mix[subset].name));
    }
  }

  double of(std::size_t arm, std::int64_t n_draws) const {
    const RewardCurve& curve = *curves_[arm];
    return curve.end +
           (curve.start - curve.end) * std::exp2(-static_cast<double>(n_draws) / curve.half_life_draws);
  }

 private:
  std::vector<std::optional<RewardCurve>> curves_;
};

// A subset's reward is the mean of its groups'. Groups weigh the same for a norm that is measured on each,
// and as often as they are drawn for the loss of training.
MixtureRewards assumed_rewards(const AssumedRewards& curves, const Mixture& mixture,
                               const MixtureProbabilities& probabilities) {
  const Arms& arms = mixture.arms();
  const bool as_drawn = mixture.policy().needs == RewardNeed::training_loss;
  MixtureRewards rewards;
  for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset) {
    std::vector<double>& groups = rewards.groups.emplace_back();
    double mean = 0;
    for (std::size_t group = 0; group < arms.n_groups(subset); ++group) {
      const std::size_t arm = arms.arm(subset, group);
      groups.push_back(curves.of(arm, mixture.draws_of_arm()[arm]));
      mean += groups.back() * (as_drawn ? probabilities.groups[subset][group]
                                        : 1 / static_cast<double>(arms.n_groups(subset)));
    }
    rewards.subsets.push_back(mean);
  }
  return rewards;
}

MixtureRewards recorded_rewards(const std::vector<RecordedRewards>& rows, std::int64_t step) {
  const auto after = std::ranges::upper_bound(rows, step, {}, &RecordedRewards::step);
  return (after == rows.begin() ? rows.front() : *std::prev(after)).rewards;
}

constexpr std::size_t kMostWindows = 100'000;

// Tokens of a window, limited so that sums of lengths stay far within 64 bits.
std::int64_t window_tokens_of(const MixingSpec& spec, std::int64_t tokens_per_iteration) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  if (spec.update_every_steps > kMost / tokens_per_iteration) return kMost;
  return spec.update_every_steps * tokens_per_iteration;
}

MixedDraws draw_windows(const Scenario& scenario, bool stands_still) {
  const MixingSpec& spec = *scenario.mixing;
  DrawnSubsets subsets = draw_subsets(scenario.lengths, scenario.seed);
  MixedDraws drawn{.sources = std::move(subsets.lengths.sources),
                   .sample_lengths_tokens = std::move(subsets.lengths.lengths_tokens),
                   .arms = Arms(subsets.subset_of, subsets.group_of),
                   .samples = {},
                   .arm_of = {},
                   .lengths_tokens = {},
                   .windows = {},
                   .n_probed_updates = 0,
                   .seed = spec.options.seed};
  Mixture mixture(drawn.arms, spec.policy, spec.options, spec.replacement);
  const RewardNeed needs = mixture.policy().needs;
  const bool learns = needs != RewardNeed::none && !stands_still;
  std::optional<AssumedRewards> curves;
  if (learns && spec.rewards.empty()) curves.emplace(spec.curves, scenario.lengths, drawn.arms);
  const std::int64_t n_draws = spec.draws.value_or(std::ssize(drawn.sample_lengths_tokens));
  const std::int64_t window_tokens = window_tokens_of(spec, scenario.training.tokens_per_iteration);
  std::optional<MixtureRewards> rewards;
  for (std::int64_t step = 0; mixture.n_draws() < n_draws; step += spec.update_every_steps) {
    if (step > 0 && learns) {
      if (needs == RewardNeed::probes) ++drawn.n_probed_updates;
      rewards = curves ? assumed_rewards(*curves, mixture, drawn.windows.back().probabilities)
                       : recorded_rewards(spec.rewards, step);
      mixture.update(*rewards);
    }
    const std::int64_t at = stands_still ? 0 : step;
    if (drawn.windows.size() == kMostWindows) {
      throw std::invalid_argument(fmt::format(
          "update_every_steps: expected at most {} updates in {} draws, got more", kMostWindows, n_draws));
    }
    drawn.windows.push_back({.first_draw = drawn.samples.size(),
                             .first_step = step,
                             .probabilities = mixture.probabilities(at),
                             .rewards = rewards});
    for (const MixtureDraw& draw :
         mixture.draw_tokens(window_tokens, n_draws - mixture.n_draws(), at, drawn.sample_lengths_tokens)) {
      drawn.samples.push_back(draw.sample);
      drawn.arm_of.push_back(draw.arm);
      drawn.lengths_tokens.push_back(drawn.sample_lengths_tokens[draw.sample]);
    }
    drawn.windows.back().n_draws = drawn.samples.size() - drawn.windows.back().first_draw;
  }
  return drawn;
}

}  // namespace

ProbeLengths probe_lengths(const MixedDraws& draws, const ProbeSpec& spec, std::size_t update) {
  constexpr std::uint64_t kGradient = 0;
  constexpr std::uint64_t kPerplexity = 1;
  const Arms& arms = draws.arms;
  ProbeLengths lengths;
  lengths.gradient.resize(arms.n_subsets());
  lengths.perplexity.resize(arms.n_arms());
  const auto add = [&](std::size_t arm, int n, std::uint64_t purpose, std::vector<std::int32_t>& to) {
    for (const std::uint32_t sample : Mixture::probe_samples(
             arms, draws.seed, static_cast<std::int64_t>(update), arm, static_cast<std::size_t>(n), purpose))
      to.push_back(draws.sample_lengths_tokens[sample]);
  };
  for (std::size_t arm = 0; arm < arms.n_arms(); ++arm) {
    add(arm, spec.gradient_samples, kGradient, lengths.gradient[arms.subset_of_arm(arm)]);
    add(arm, spec.perplexity_samples, kPerplexity, lengths.perplexity[arm]);
  }
  return lengths;
}

MixedDraws draw_mixture(const Scenario& scenario, bool stands_still) {
  try {
    return draw_windows(scenario, stands_still);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: /mixing/{}", scenario.path, error.what()));
  }
}

}  // namespace packsim
