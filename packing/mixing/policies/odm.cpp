#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>

#include "packing/mixing/mixing_policy.hpp"

namespace packsim::mixing_detail {
namespace {

// The exploration rate of update t: every subset has at least this probability.
double exploration_rate(std::size_t n_subsets, std::int64_t t) {
  const auto k = static_cast<double>(n_subsets);
  if (t < 1) return 1 / k;
  return std::min(1 / k, std::sqrt(std::log(k) / (k * static_cast<double>(t))));
}

class Odm final : public MixingState {
 public:
  Odm(const Arms& arms, double smoothing)
      : smoothing_(smoothing), estimates_(arms.n_subsets(), 0.0), groups_(groups_by_size(arms)) {}

  MixtureProbabilities probabilities(std::int64_t /*step*/) const override {
    const auto k = static_cast<double>(estimates_.size());
    const double rate = exploration_rate(estimates_.size(), n_updates_);
    const double before = exploration_rate(estimates_.size(), n_updates_ - 1);
    const double largest = *std::ranges::max_element(estimates_);
    std::vector<double> p;
    double sum = 0;
    for (const double estimate : estimates_) {
      p.push_back(std::exp(before * (estimate - largest)));
      sum += p.back();
    }
    for (double& value : p) value = (1 - k * rate) * value / sum + rate;
    return {p, groups_};
  }

  void update(const MixtureRewards& rewards, std::int64_t /*n_updates*/) override {
    if (rewards.subsets.size() != estimates_.size()) {
      throw std::invalid_argument("rewards: expected those of " + std::to_string(estimates_.size()) +
                                  " subsets, got " + std::to_string(rewards.subsets.size()));
    }
    for (const double reward : rewards.subsets) {
      if (!std::isfinite(reward) || reward < 0)
        throw std::invalid_argument("rewards: expected finite numbers of at least 0, got " +
                                    std::to_string(reward));
    }
    const std::vector<double> p = probabilities(0).subsets;
    for (std::size_t i = 0; i < p.size(); ++i)
      estimates_[i] = smoothing_ * estimates_[i] + (1 - smoothing_) * rewards.subsets[i] / p[i];
    ++n_updates_;
  }

  std::vector<double> numbers() const override {
    std::vector<double> numbers = estimates_;
    numbers.push_back(static_cast<double>(n_updates_));
    return numbers;
  }

  void set_numbers(std::span<const double> numbers) override {
    constexpr double kMostUpdates = 9007199254740992.0;  // up to which double counts
    const bool fits = numbers.size() == estimates_.size() + 1 && numbers.back() >= 0 &&
                      numbers.back() <= kMostUpdates &&
                      std::ranges::all_of(numbers, [](double value) { return std::isfinite(value); });
    if (!fits)
      throw std::invalid_argument("state: expected one estimate for each subset, and a count, got others");
    std::ranges::copy(numbers.first(estimates_.size()), estimates_.begin());
    n_updates_ = static_cast<std::int64_t>(numbers.back());
  }

 private:
  double smoothing_;
  std::int64_t n_updates_ = 0;
  std::vector<double> estimates_;  // [n_subsets]
  std::vector<std::vector<double>> groups_;
};

std::unique_ptr<MixingState> make_odm(const Arms& arms, const MixingOptions& options) {
  if (!(options.smoothing >= 0) || options.smoothing >= 1)
    throw std::invalid_argument("smoothing: expected a number from 0 up to below 1, got " +
                                std::to_string(options.smoothing));
  return std::make_unique<Odm>(arms, options.smoothing);
}

constexpr std::array<std::string_view, 1> kOdmOptions = {"smoothing"};

}  // namespace

extern const MixingPolicy odm = {
    .name = "odm",
    .summary = "A bandit (Exp3) over subsets by their training loss, which explores less and less.",
    .source = "Albalak et al., Online Data Mixing, arXiv 2312.02406, algorithm 1",
    .needs = RewardNeed::training_loss,
    .options = kOdmOptions,
    .make = make_odm,
};

}  // namespace packsim::mixing_detail
