#include "packing/mixing/mixture.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "packing/algorithms/counter_random.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "packing/mixing/draw_purpose.hpp"

namespace packsim {

Mixture::Mixture(Arms arms, std::string_view policy, const MixingOptions& options, Replacement replacement)
    : arms_(std::make_unique<const Arms>(std::move(arms))),
      policy_(&known_mixing_policy(policy)),
      options_(options),
      state_(policy_->make(*arms_, options_)),
      replacement_(replacement),
      draws_of_arm_(arms_->n_arms(), 0),
      passes_(arms_->n_arms()) {}

std::uint32_t Mixture::sample_with_replacement(std::size_t arm, std::int64_t draw) const {
  const std::span<const std::uint32_t> samples = arms_->samples(arm);
  const std::uint64_t word =
      word_of_name(options_.seed, {draw_purpose(DrawPurpose::sample), arm, static_cast<std::uint64_t>(draw)});
  return samples[below(word, static_cast<std::uint32_t>(samples.size()))];
}

std::vector<std::uint32_t> Mixture::order_of_pass(std::size_t arm, std::int64_t pass) const {
  const std::span<const std::uint32_t> samples = arms_->samples(arm);
  std::vector<std::uint32_t> order(samples.begin(), samples.end());
  const std::uint64_t word =
      word_of_name(options_.seed, {draw_purpose(DrawPurpose::pass), arm, static_cast<std::uint64_t>(pass)});
  Generator generator(static_cast<std::uint32_t>(word >> 32));
  shuffle(std::span(order), generator);
  return order;
}

std::uint32_t Mixture::next_sample(std::size_t arm) {
  const std::int64_t draw = draws_of_arm_[arm]++;
  if (replacement_ == Replacement::with) return sample_with_replacement(arm, draw);
  const auto n = static_cast<std::int64_t>(arms_->samples(arm).size());
  Pass& pass = passes_[arm];
  if (pass.number != draw / n) pass = {.number = draw / n, .order = order_of_pass(arm, draw / n)};
  return pass.order[static_cast<std::size_t>(draw % n)];
}

std::vector<std::int64_t> Mixture::draws_of_sample() const {
  std::vector<std::int64_t> draws(arms_->n_samples(), 0);
  for (std::size_t arm = 0; arm < arms_->n_arms(); ++arm) {
    const std::int64_t n_draws = draws_of_arm_[arm];
    if (replacement_ == Replacement::with) {
      for (std::int64_t draw = 0; draw < n_draws; ++draw) ++draws[sample_with_replacement(arm, draw)];
      continue;
    }
    const std::span<const std::uint32_t> samples = arms_->samples(arm);
    const auto n = static_cast<std::int64_t>(samples.size());
    for (const std::uint32_t sample : samples) draws[sample] = n_draws / n;
    if (n_draws % n == 0) continue;
    const std::vector<std::uint32_t> order = order_of_pass(arm, n_draws / n);
    for (std::int64_t i = 0; i < n_draws % n; ++i) ++draws[order[static_cast<std::size_t>(i)]];
  }
  return draws;
}

MixtureDraw Mixture::next(const MixtureProbabilities& probabilities) {
  const auto draw = static_cast<std::uint64_t>(n_draws_++);
  const auto uniform = [&](DrawPurpose purpose) {
    return open_uniform(word_of_name(options_.seed, {draw_purpose(purpose), draw}));
  };
  const std::size_t subset = drawn_index(probabilities.subsets, uniform(DrawPurpose::subset));
  const std::vector<double>& groups = probabilities.groups[subset];
  const std::size_t group = groups.size() == 1 ? 0 : drawn_index(groups, uniform(DrawPurpose::group));
  const std::size_t arm = arms_->arm(subset, group);
  return {.sample = next_sample(arm), .arm = static_cast<std::uint32_t>(arm)};
}

std::vector<MixtureDraw> Mixture::draw(std::size_t n, std::int64_t step) {
  const MixtureProbabilities now = probabilities(step);
  std::vector<MixtureDraw> draws;
  draws.reserve(n);
  for (std::size_t i = 0; i < n; ++i) draws.push_back(next(now));
  return draws;
}

std::vector<MixtureDraw> Mixture::draw_tokens(std::int64_t n_tokens, std::int64_t most, std::int64_t step,
                                              std::span<const std::int32_t> lengths_tokens) {
  if (lengths_tokens.size() != arms_->n_samples()) {
    throw std::invalid_argument("lengths_tokens: expected one of each of " +
                                std::to_string(arms_->n_samples()) + " samples, got " +
                                std::to_string(lengths_tokens.size()));
  }
  const MixtureProbabilities now = probabilities(step);
  std::vector<MixtureDraw> draws;
  for (std::int64_t tokens = 0; tokens < n_tokens && static_cast<std::int64_t>(draws.size()) < most;) {
    draws.push_back(next(now));
    tokens += lengths_tokens[draws.back().sample];
  }
  return draws;
}

std::vector<std::uint32_t> Mixture::probe_samples(std::size_t arm, std::size_t n,
                                                  std::uint64_t purpose) const {
  return probe_samples(*arms_, options_.seed, n_updates_, arm, n, purpose);
}

std::vector<std::uint32_t> Mixture::probe_samples(const Arms& arms, std::uint64_t seed,
                                                  std::int64_t n_updates, std::size_t arm, std::size_t n,
                                                  std::uint64_t purpose) {
  const std::span<const std::uint32_t> samples = arms.samples(arm);
  std::vector<std::uint32_t> drawn;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t word = word_of_name(
        seed, {draw_purpose(DrawPurpose::probe), purpose, static_cast<std::uint64_t>(n_updates), arm, i});
    drawn.push_back(samples[below(word, static_cast<std::uint32_t>(samples.size()))]);
  }
  return drawn;
}

void Mixture::update(const MixtureRewards& rewards) {
  state_->update(rewards, n_updates_);
  ++n_updates_;
}

Mixture::State Mixture::state() const {
  return {.n_draws = n_draws_,
          .n_updates = n_updates_,
          .draws_of_arm = draws_of_arm_,
          .policy = state_->numbers()};
}

void Mixture::set_state(const State& state) {
  std::int64_t rest = state.n_draws;
  for (const std::int64_t n : state.draws_of_arm) rest = n < 0 || n > rest ? -1 : rest - n;
  const bool counts_fit = state.draws_of_arm.size() == arms_->n_arms() && state.n_updates >= 0 && rest == 0;
  if (!counts_fit) {
    throw std::invalid_argument("state: expected draws of " + std::to_string(arms_->n_arms()) +
                                " arms that add up to n_draws, got others");
  }
  std::unique_ptr<MixingState> policy = policy_->make(*arms_, options_);
  policy->set_numbers(state.policy);
  state_ = std::move(policy);
  n_draws_ = state.n_draws;
  n_updates_ = state.n_updates;
  draws_of_arm_ = state.draws_of_arm;
}

}  // namespace packsim
