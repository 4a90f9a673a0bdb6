#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace packsim {

/// A distribution over arms that rewards move: the softmax of one free logit for each arm, as in the released
/// code of HBO (the paper has networks of two layers in its place, to which nothing but a constant is fed).
class Actor {
 public:
  /// All that an actor knows.
  struct State {
    std::vector<double> logits;
    std::vector<double> first_moments;   ///< Adam's mean of gradients
    std::vector<double> second_moments;  ///< Adam's mean of squared gradients
    std::int64_t n_steps = 0;            ///< of Adam
    bool operator==(const State&) const = default;
  };

  /// Starts at these probabilities. The released code fits its logits to them until the squared error is
  /// 1e-10; their logarithms are what it tends to. Throws std::invalid_argument unless all are above 0.
  explicit Actor(std::span<const double> probabilities);
  /// Throws std::invalid_argument unless all four parts fit together and all numbers are finite.
  explicit Actor(State state);

  std::size_t n_arms() const { return state_.logits.size(); }
  std::vector<double> probabilities() const;
  const State& state() const { return state_; }

  /// Learns as HBO's code does: steps of Adam (0.9, 0.999, 1e-8) on -sum_k rewards[k] log p_k over all arms,
  /// after which p is closer to rewards / sum(rewards). A logit moves by at most about n_steps x
  /// learning_rate. Adam keeps its moments from call to call. With rewards 2, 1, 1, 1 and 200 steps of 1e-4,
  /// the first of four equal arms has .2575 after one call, .287 after 5 and .352 after 15.
  ///
  /// rewards: [n_arms], finite and at least 0. Throws std::invalid_argument otherwise.
  void learn_all_arms(std::span<const double> rewards, int n_steps, double learning_rate);

  /// REINFORCE, as HBO's paper writes it: logits += learning_rate x reward x grad log p(arm), for an arm that
  /// was drawn with these probabilities. On average over draws that is a step along the gradient of
  /// sum_k p_k rewards_k. Throws std::invalid_argument for an arm or a reward out of range.
  void reinforce(std::size_t arm, double reward, double learning_rate);

 private:
  State state_;
};

}  // namespace packsim
