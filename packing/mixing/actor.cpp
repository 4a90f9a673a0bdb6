#include "packing/mixing/actor.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace packsim {
namespace {

constexpr double kFirstDecay = 0.9;
constexpr double kSecondDecay = 0.999;
constexpr double kEpsilon = 1e-8;

std::vector<double> softmax(std::span<const double> logits) {
  const double largest = *std::ranges::max_element(logits);
  std::vector<double> values(logits.size());
  std::ranges::transform(logits, values.begin(), [&](double logit) { return std::exp(logit - largest); });
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= sum;
  return values;
}

bool are_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

void check_reward(double reward, std::size_t arm) {
  if (std::isfinite(reward) && reward >= 0) return;
  throw std::invalid_argument("rewards: expected finite numbers of at least 0, got " +
                              std::to_string(reward) + " for arm " + std::to_string(arm));
}

}  // namespace

Actor::Actor(std::span<const double> probabilities) {
  if (probabilities.empty())
    throw std::invalid_argument("probabilities: expected at least one arm, got none");
  for (std::size_t arm = 0; arm < probabilities.size(); ++arm) {
    if (!(probabilities[arm] > 0) || !std::isfinite(probabilities[arm])) {
      throw std::invalid_argument("probabilities: expected numbers above 0, got " +
                                  std::to_string(probabilities[arm]) + " for arm " + std::to_string(arm));
    }
    state_.logits.push_back(std::log(probabilities[arm]));
  }
  state_.first_moments.assign(probabilities.size(), 0);
  state_.second_moments.assign(probabilities.size(), 0);
}

Actor::Actor(State state) : state_(std::move(state)) {
  const std::size_t n = state_.logits.size();
  const bool fits = n > 0 && state_.first_moments.size() == n && state_.second_moments.size() == n &&
                    state_.n_steps >= 0 && are_finite(state_.logits) && are_finite(state_.first_moments) &&
                    are_finite(state_.second_moments) &&
                    std::ranges::all_of(state_.second_moments, [](double value) { return value >= 0; });
  if (!fits) throw std::invalid_argument("state: expected logits and moments of an actor, got others");
}

std::vector<double> Actor::probabilities() const {
  return softmax(state_.logits);
}

void Actor::learn_all_arms(std::span<const double> rewards, int n_steps, double learning_rate) {
  if (rewards.size() != n_arms()) {
    throw std::invalid_argument("rewards: expected " + std::to_string(n_arms()) + ", one for each arm, got " +
                                std::to_string(rewards.size()));
  }
  for (std::size_t arm = 0; arm < rewards.size(); ++arm) check_reward(rewards[arm], arm);
  const double sum = std::accumulate(rewards.begin(), rewards.end(), 0.0);
  for (int step = 0; step < n_steps; ++step) {
    const std::vector<double> p = probabilities();
    ++state_.n_steps;
    const auto n = static_cast<double>(state_.n_steps);
    const double first_bias = 1 - std::pow(kFirstDecay, n);
    const double second_bias = 1 - std::pow(kSecondDecay, n);
    for (std::size_t arm = 0; arm < p.size(); ++arm) {
      const double gradient = p[arm] * sum - rewards[arm];
      double& first = state_.first_moments[arm];
      double& second = state_.second_moments[arm];
      first = kFirstDecay * first + (1 - kFirstDecay) * gradient;
      second = kSecondDecay * second + (1 - kSecondDecay) * gradient * gradient;
      state_.logits[arm] -=
          learning_rate * (first / first_bias) / (std::sqrt(second / second_bias) + kEpsilon);
    }
  }
}

void Actor::reinforce(std::size_t arm, double reward, double learning_rate) {
  if (arm >= n_arms()) {
    throw std::invalid_argument("arm: expected a number below " + std::to_string(n_arms()) + ", got " +
                                std::to_string(arm));
  }
  check_reward(reward, arm);
  const std::vector<double> p = probabilities();
  for (std::size_t k = 0; k < p.size(); ++k)
    state_.logits[k] += learning_rate * reward * ((k == arm ? 1.0 : 0.0) - p[k]);
}

}  // namespace packsim
