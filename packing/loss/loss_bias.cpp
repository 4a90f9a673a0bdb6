#include "packing/loss/loss_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "packing/loss/loss_places.hpp"

namespace packsim {
namespace {

// A pack's samples with loss tokens.
struct PackSamples {
  std::uint32_t first = 0;      // index in its group's samples
  std::uint32_t n_samples = 0;  // those after the first lie behind it
  LossCounts of_long;           // how much of the pack is long samples
};

// The samples with loss tokens of a group's packs, pack after pack: each is looked up once, and read for
// every iteration that trains it.
struct GroupSamples {
  std::vector<std::int32_t> tokens;         // [n_samples] with loss
  std::vector<std::int32_t> length_tokens;  // [n_samples] of the whole sample
};

// One row for each group; fills `packs`, [n_groups][n_packs], but for the long samples.
std::vector<GroupSamples> group_samples(const Packing& packing, const LossTokens& loss_tokens,
                                        std::vector<std::vector<PackSamples>>& packs) {
  std::vector<GroupSamples> groups;
  for (const PackSet& set : packing.groups) {
    GroupSamples& group = groups.emplace_back();
    group.tokens.reserve(set.items.size());
    group.length_tokens.reserve(set.items.size());
    std::vector<PackSamples>& of_group = packs.emplace_back(set.n_packs());
    for (std::size_t p = 0; p < set.n_packs(); ++p) {
      of_group[p].first = static_cast<std::uint32_t>(group.tokens.size());
      for (std::size_t i = set.offsets[p]; i < set.offsets[p + 1]; ++i) {
        loss_tokens.load_ahead(set.items, i);
        const ItemIndex item = set.items[i];
        const std::int64_t tokens = loss_tokens[item];
        if (tokens == 0) continue;
        group.tokens.push_back(static_cast<std::int32_t>(tokens));
        group.length_tokens.push_back(packing.lengths_tokens[item]);
      }
      of_group[p].n_samples = static_cast<std::uint32_t>(group.tokens.size()) - of_group[p].first;
    }
  }
  return groups;
}

// Samples of at least so many tokens hold the half of the loss tokens which lies in the longest ones, counted
// once an epoch.
std::int32_t long_from_tokens(std::span<const GroupSamples> groups) {
  std::vector<std::int64_t> tokens_of;  // by length
  std::int64_t all = 0;
  for (const GroupSamples& group : groups) {
    for (std::size_t i = 0; i < group.tokens.size(); ++i) {
      const auto length = static_cast<std::size_t>(group.length_tokens[i]);
      if (length >= tokens_of.size()) tokens_of.resize(length + 1);
      tokens_of[length] += group.tokens[i];
      all += group.tokens[i];
    }
  }
  std::int64_t above = 0;
  for (std::size_t length = tokens_of.size(); length-- > 0;) {
    above += tokens_of[length];
    if (2 * above >= all) return static_cast<std::int32_t>(length);
  }
  return 0;
}

void count_long(std::span<const GroupSamples> groups, std::vector<std::vector<PackSamples>>& packs) {
  const std::int32_t from_tokens = long_from_tokens(groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (PackSamples& pack : packs[g]) {
      for (std::size_t i = pack.first; i < pack.first + pack.n_samples; ++i) {
        if (groups[g].length_tokens[i] >= from_tokens)
          pack.of_long += {.loss_tokens = groups[g].tokens[i], .n_samples = 1};
      }
    }
  }
}

// A pack of the iteration at hand.
struct BiasPack {
  std::span<const std::int32_t> sample_tokens;  // with loss
  LossCounts of_long;
};

// One normaliser's sums over iterations. All samples of a pack weigh the same: as many times the weight of a
// token as they have tokens, or the same weight for each, so that sums need packs alone.
class BiasSum {
 public:
  explicit BiasSum(const Normaliser& normaliser) : normaliser_(normaliser) {}

  // places, packs: [n packs of the iteration]
  void add(std::span<const LossPlace> places, std::span<const BiasPack> packs, std::int64_t all_long_tokens) {
    weights_.resize(places.size());
    double sum = 0;
    double of_long = 0;
    for (std::size_t p = 0; p < places.size(); ++p) {
      if (places[p].pack.loss_tokens == 0) continue;
      weights_[p] = normaliser_.pack_weight(places[p]);
      sum += weights_[p] * units(places[p].pack);
      of_long += weights_[p] * units(packs[p].of_long);
    }
    const auto all_tokens = static_cast<double>(places.front().iteration.loss_tokens);
    double differences = 0;
    for (std::size_t p = 0; p < places.size(); ++p) {
      if (places[p].pack.loss_tokens > 0) differences += difference(places[p], packs[p], weights_[p] / sum);
    }
    ++n_iterations_;
    bias_.misplaced_fraction += differences / 2;
    bias_.least_sum = std::min(bias_.least_sum, sum);
    bias_.most_sum = std::max(bias_.most_sum, sum);
    long_share_of_weight_ += of_long / sum;
    long_share_of_tokens_ += static_cast<double>(all_long_tokens) / all_tokens;
  }

  LossBias result() const {
    if (n_iterations_ == 0) return {};
    LossBias bias = bias_;
    bias.misplaced_fraction /= static_cast<double>(n_iterations_);
    bias.long_sample_weight = long_share_of_weight_ / long_share_of_tokens_;
    return bias;
  }

 private:
  // What a pack's weight is given to: each of its samples or each of its tokens.
  double units(const LossCounts& counts) const {
    return static_cast<double>(normaliser_.per_sample ? counts.n_samples : counts.loss_tokens);
  }

  // Sum over a pack's tokens of the difference between their share of the weight and 1 / tokens of the
  // iteration. weight: share of a unit.
  double difference(const LossPlace& place, const BiasPack& pack, double weight) const {
    const double even = 1 / static_cast<double>(place.iteration.loss_tokens);
    if (!normaliser_.per_sample) return static_cast<double>(place.pack.loss_tokens) * std::abs(weight - even);
    double differences = 0;
    for (const std::int32_t tokens : pack.sample_tokens) differences += std::abs(weight - even * tokens);
    return differences;
  }

  const Normaliser& normaliser_;
  LossBias bias_{.least_sum = std::numeric_limits<double>::infinity(), .most_sum = 0};
  double long_share_of_weight_ = 0;
  double long_share_of_tokens_ = 0;
  std::int64_t n_iterations_ = 0;
  std::vector<double> weights_;  // [n_packs] of a unit, in the iteration at hand
};

}  // namespace

std::vector<LossBias> loss_bias(const Packing& packing, const Schedule& schedule,
                                const LossTokens& loss_tokens,
                                std::span<const std::vector<LossCounts>> losses,
                                std::span<const Normaliser> normalisers) {
  std::vector<std::vector<PackSamples>> packs;
  const std::vector<GroupSamples> samples = group_samples(packing, loss_tokens, packs);
  count_long(samples, packs);
  std::vector<BiasSum> sums(normalisers.begin(), normalisers.end());
  LossPlaces places(schedule, losses);
  std::vector<BiasPack> of_iteration;
  for (const Iteration& iteration : schedule.iterations) {
    of_iteration.clear();
    std::int64_t all_long_tokens = 0;
    for (const PlacedPack& placed : schedule.packs(iteration)) {
      schedule.load_ahead<PackSamples>(placed, packs);
      const PackSamples& pack = packs[placed.group][placed.pack];
      of_iteration.push_back(
          {.sample_tokens = std::span(samples[placed.group].tokens).subspan(pack.first, pack.n_samples),
           .of_long = pack.of_long});
      __builtin_prefetch(of_iteration.back().sample_tokens.data());
      all_long_tokens += pack.of_long.loss_tokens;
    }
    const std::span<const LossPlace> of_packs = places.of(iteration);
    if (of_packs.empty() || of_packs.front().iteration.loss_tokens == 0) continue;
    for (BiasSum& sum : sums) sum.add(of_packs, of_iteration, all_long_tokens);
  }
  std::vector<LossBias> biases;
  for (const BiasSum& sum : sums) biases.push_back(sum.result());
  return biases;
}

LossBias loss_bias(const Packing& packing, const Schedule& schedule, const LossTokens& loss_tokens,
                   std::span<const std::vector<LossCounts>> losses, const Normaliser& normaliser) {
  return loss_bias(packing, schedule, loss_tokens, losses, {&normaliser, 1}).front();
}

}  // namespace packsim
