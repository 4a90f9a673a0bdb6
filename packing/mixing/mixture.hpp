#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "packing/mixing/arms.hpp"
#include "packing/mixing/mixing_policy.hpp"

namespace packsim {

/// Whether a sample may be drawn again before all others of its arm have been.
enum class Replacement : std::uint8_t {
  with,  ///< each draw of an arm is of any of its samples, as in HBO
  /// Samples of an arm come in a shuffled order, which begins anew, in another order, when all have come.
  without,
};

/// One draw.
struct MixtureDraw {
  std::uint32_t sample = 0;  ///< index
  std::uint32_t arm = 0;
};

/// Draws samples of arms by the probabilities of a policy. Which sample is drawn is a function of the arms,
/// the policy, the seed and the draws and updates before, so all ranks that make the same calls have the same
/// draws, and a small state resumes them exactly.
class Mixture {
 public:
  /// All that draws and updates have changed.
  struct State {
    std::int64_t n_draws = 0;
    std::int64_t n_updates = 0;
    std::vector<std::int64_t> draws_of_arm;  ///< [n_arms]
    std::vector<double> policy;              ///< MixingState::numbers()
    bool operator==(const State&) const = default;
  };

  /// options.seed: of all draws. Throws std::invalid_argument for an unknown policy, or options that do not
  /// fit the arms.
  Mixture(Arms arms, std::string_view policy, const MixingOptions& options, Replacement replacement);

  const Arms& arms() const { return *arms_; }
  const MixingPolicy& policy() const { return *policy_; }
  MixtureProbabilities probabilities(std::int64_t step) const { return state_->probabilities(step); }
  std::span<const std::int64_t> draws_of_arm() const { return draws_of_arm_; }
  /// [n_samples], how often each has been drawn. The draws are made again for it, as no state keeps them.
  std::vector<std::int64_t> draws_of_sample() const;
  std::int64_t n_draws() const { return n_draws_; }
  std::int64_t n_updates() const { return n_updates_; }

  /// The next draws, with the probabilities of optimizer step `step`.
  std::vector<MixtureDraw> draw(std::size_t n, std::int64_t step);
  /// The next draws up to the one with which their lengths reach n_tokens, and at most `most` of them.
  /// lengths_tokens: [n_samples].
  std::vector<MixtureDraw> draw_tokens(std::int64_t n_tokens, std::int64_t most, std::int64_t step,
                                       std::span<const std::int32_t> lengths_tokens);
  /// Samples of an arm with which to measure a reward: n of them, with replacement, other ones for each
  /// update and purpose. They count as no draws.
  std::vector<std::uint32_t> probe_samples(std::size_t arm, std::size_t n, std::uint64_t purpose) const;

  /// The same, for a mixture of these arms and this seed after so many updates.
  static std::vector<std::uint32_t> probe_samples(const Arms& arms, std::uint64_t seed,
                                                  std::int64_t n_updates, std::size_t arm, std::size_t n,
                                                  std::uint64_t purpose);

  /// Gives the policy its rewards.
  void update(const MixtureRewards& rewards);

  State state() const;
  /// Throws std::invalid_argument for the state of a mixture with other arms or another policy; then nothing
  /// has changed.
  void set_state(const State& state);

 private:
  MixtureDraw next(const MixtureProbabilities& probabilities);
  std::uint32_t next_sample(std::size_t arm);
  std::uint32_t sample_with_replacement(std::size_t arm, std::int64_t draw) const;
  std::vector<std::uint32_t> order_of_pass(std::size_t arm, std::int64_t pass) const;

  std::unique_ptr<const Arms> arms_;
  const MixingPolicy* policy_;
  MixingOptions options_;
  std::unique_ptr<MixingState> state_;
  Replacement replacement_;
  std::int64_t n_draws_ = 0;
  std::int64_t n_updates_ = 0;
  std::vector<std::int64_t> draws_of_arm_;
  struct Pass {
    std::int64_t number = -1;
    std::vector<std::uint32_t> order;  // the samples of the arm
  };
  std::vector<Pass> passes_;  // [n_arms], of draws without replacement
};

}  // namespace packsim
