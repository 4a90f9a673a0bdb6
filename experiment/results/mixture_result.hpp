#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "packing/mixing/mixing_policy.hpp"

namespace packsim {

/// What measuring the rewards of a mixture costs, in one way of doing it.
struct ProbeCost {
  std::string name;                          ///< how: "as the scenario says", "as coded in HBO", ...
  std::int64_t forward_backward_passes = 0;  ///< micro-batches of an update, each counted once
  std::int64_t forward_passes = 0;
  double gpu_days = 0;              ///< of the whole run, with the actors' updates
  double of_training_fraction = 0;  ///< over the GPU-days of training
  /// GPU-days of forward passes that run while ranks wait anyway, which are not in gpu_days.
  double hidden_gpu_days = 0;
  /// Forward passes of samples over those of training, as if all samples cost the same. A pass forward and
  /// backward counts three.
  double of_training_passes_fraction = 0;
};

/// One window of a strategy's run.
struct MixtureWindowResult {
  std::int64_t first_iteration = 0;
  std::int64_t n_iterations = 0;
  std::int64_t packed_draws = 0;   ///< with those that the window before has left
  std::int64_t carried_draws = 0;  ///< of these, left for the next window
  double fill_fraction = 0;
  double abr = 0;
  double cr = 0;
  double gpu_days = 0;
  double probes_s = 0;  ///< time in which the update after the window measures rewards; 0 after the last
};

/// The same strategy on other draws, to compare with.
struct StillMixture {
  double gpu_days = 0;
  std::int64_t trained_tokens = 0;
  double abr = 0;
  double cr = 0;
  double fill_fraction = 0;
};

/// What a moving mixture means for one strategy.
struct StrategyMixture {
  std::string packs;  ///< MixturePacks: window, run or pools
  std::string plan;   ///< MixturePlan: window or prior; empty if the strategy is given its plan
  /// Whether later draws follow from rewards, so that nobody knows them beforehand.
  bool follows_rewards = false;
  bool moves = false;  ///< whether probabilities change in the run
  double fill_fraction = 0;
  std::vector<MixtureWindowResult> windows;  ///< empty if the draws of the run are packed together
  std::vector<ProbeCost> probes;             ///< the scenario's way first; empty if nothing is measured
  /// The same run with probabilities that stay as at the start; none for policies that do not move.
  std::optional<StillMixture> still;

  /// GPU-days of training with those of measuring rewards.
  double gpu_days_with_probes(double training_gpu_days) const {
    return training_gpu_days + (probes.empty() ? 0 : probes.front().gpu_days);
  }
};

/// The mixture of a job: the same draws for all of its strategies.
struct MixtureSummary {
  std::string policy;
  std::string policy_summary;
  std::string policy_source;
  std::vector<std::string> assumptions;  ///< what the numbers rest on, as sentences
  std::int64_t update_every_steps = 0;
  std::int64_t n_updates = 0;
  std::int64_t n_draws = 0;
  std::int64_t never_drawn_samples = 0;
  std::int64_t repeated_draws = 0;  ///< draws of samples that have been drawn before
  struct Group {
    std::int64_t n_samples = 0;
    std::int64_t n_tokens = 0;
    std::int64_t n_draws = 0;
    std::int64_t never_drawn_samples = 0;
    double mean_tokens = 0;  ///< of a sample
  };
  struct Subset {
    std::string name;
    std::vector<Group> groups;
  };
  std::vector<Subset> subsets;
  struct Window {
    std::int64_t first_step = 0;
    std::int64_t n_draws = 0;
    std::int64_t n_tokens = 0;
    std::int64_t median_tokens = 0;
    std::int64_t p99_tokens = 0;
    std::int64_t longest_tokens = 0;
    MixtureProbabilities probabilities;
    std::optional<MixtureRewards> rewards;
  };
  std::vector<Window> windows;
  /// [k] samples that were drawn k times; the last one, as often or more often.
  std::vector<std::int64_t> samples_by_draws;
};

}  // namespace packsim
