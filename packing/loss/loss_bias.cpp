#include "packing/loss/loss_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "packing/loss/loss_weights.hpp"

namespace packsim {
namespace {

// Samples of at least so many tokens hold the half of the loss tokens which lies in the longest ones, counted
// once an epoch.
std::int64_t long_tokens(const Packing& packing, const LossTokens& loss_tokens) {
  std::vector<std::int64_t> tokens_of;  // by length
  std::int64_t all = 0;
  for (const PackSet& packs : packing.groups) {
    for (const ItemIndex item : packs.items) {
      const auto length = static_cast<std::size_t>(packing.lengths_tokens[item]);
      if (length >= tokens_of.size()) tokens_of.resize(length + 1);
      tokens_of[length] += loss_tokens[item];
      all += loss_tokens[item];
    }
  }
  std::int64_t above = 0;
  for (std::size_t length = tokens_of.size(); length-- > 0;) {
    above += tokens_of[length];
    if (2 * above >= all) return static_cast<std::int64_t>(length);
  }
  return 0;
}

struct TokenWeights {
  double sum = 0;
  double of_long = 0;
  double long_tokens = 0;
};

}  // namespace

LossBias loss_bias(const Packing& packing, const Schedule& schedule, const LossTokens& loss_tokens,
                   std::span<const std::vector<LossCounts>> losses, const Normaliser& normaliser) {
  const std::vector<double> weights = loss_weights(schedule, losses, normaliser);
  const std::int64_t from_tokens = long_tokens(packing, loss_tokens);
  LossBias bias{.least_sum = std::numeric_limits<double>::infinity(), .most_sum = 0};
  double long_share_of_weight = 0;
  double long_share_of_tokens = 0;
  std::int64_t n_iterations = 0;
  for (const Iteration& iteration : schedule.iterations) {
    const std::span<const PlacedPack> packs = schedule.packs(iteration);
    // Calls with (loss tokens, weight of each, whether they are of a long sample) for each sample.
    const auto for_each_sample = [&](const auto& call) {
      for (std::size_t i = 0; i < packs.size(); ++i) {
        const double weight = weights[iteration.first_placed + i];
        for (const ItemIndex item : packing.groups[packs[i].group][packs[i].pack]) {
          const auto tokens = static_cast<double>(loss_tokens[item]);
          if (tokens == 0) continue;
          call(tokens, normaliser.per_sample ? weight / tokens : weight,
               packing.lengths_tokens[item] >= from_tokens);
        }
      }
    };
    double tokens = 0;
    TokenWeights all;
    for_each_sample([&](double n, double weight, bool is_long) {
      tokens += n;
      all.sum += n * weight;
      if (!is_long) return;
      all.of_long += n * weight;
      all.long_tokens += n;
    });
    if (tokens == 0) continue;
    double differences = 0;
    for_each_sample(
        [&](double n, double weight, bool) { differences += n * std::abs(weight / all.sum - 1 / tokens); });
    ++n_iterations;
    bias.misplaced_fraction += differences / 2;
    bias.least_sum = std::min(bias.least_sum, all.sum);
    bias.most_sum = std::max(bias.most_sum, all.sum);
    long_share_of_weight += all.of_long / all.sum;
    long_share_of_tokens += all.long_tokens / tokens;
  }
  if (n_iterations == 0) return {};
  bias.misplaced_fraction /= static_cast<double>(n_iterations);
  bias.long_sample_weight = long_share_of_weight / long_share_of_tokens;
  return bias;
}

}  // namespace packsim
