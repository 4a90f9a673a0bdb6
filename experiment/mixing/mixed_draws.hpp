#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packing/mixing/mixture.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The draws between two updates of a mixture.
struct MixtureWindow {
  std::size_t first_draw = 0;
  std::size_t n_draws = 0;
  std::int64_t first_step = 0;  ///< if every step trained exactly the tokens that are asked for
  MixtureProbabilities probabilities;
  /// The rewards of the update before this window; none in the first window, and for policies that need none.
  std::optional<MixtureRewards> rewards = {};
};

/// Lengths of the samples with which the rewards of an update are measured.
struct ProbeLengths {
  std::vector<std::vector<std::int32_t>> gradient;    ///< [n_subsets]
  std::vector<std::vector<std::int32_t>> perplexity;  ///< [n_arms]
};

/// All draws of a run.
struct MixedDraws {
  std::vector<DrawnSource> sources;
  std::vector<std::int32_t> sample_lengths_tokens;  ///< [n_samples]
  Arms arms;
  std::vector<std::uint32_t> samples;        ///< [n_draws] index of the sample
  std::vector<std::uint32_t> arm_of;         ///< [n_draws]
  std::vector<std::int32_t> lengths_tokens;  ///< [n_draws]
  std::vector<MixtureWindow> windows;        ///< at least one; every draw is in one
  std::size_t n_probed_updates = 0;          ///< 0 if the policy needs no probes
  std::uint64_t seed = 0;                    ///< of the draws
};

/// Lengths of the probes of an update, which are other samples for each. update: below n_probed_updates.
ProbeLengths probe_lengths(const MixedDraws& draws, const ProbeSpec& spec, std::size_t update);

/// Lets the mixture's policy draw the whole run: windows of update_every_steps x tokens_per_iteration tokens,
/// between which it is told the rewards that the scenario records or assumes.
///
/// stands_still: whether the probabilities of step 0 hold throughout, without updates. Throws what
/// draw_subsets() throws, and std::invalid_argument for policies, traces and curves that do not fit the
/// subsets, naming the scenario.
MixedDraws draw_mixture(const Scenario& scenario, bool stands_still = false);

}  // namespace packsim
