#include "packing/loss/loss_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "packing/loss/loss_places.hpp"

namespace packsim {
namespace {

struct PackedItem {
  std::int32_t loss_tokens = 0;
  std::int32_t length_tokens = 0;
};

// [n_groups][n_items of the group], pack after pack: what is looked up of them once, and read often.
std::vector<std::vector<PackedItem>> packed_items(const Packing& packing, const LossTokens& loss_tokens) {
  std::vector<std::vector<PackedItem>> groups;
  for (const PackSet& packs : packing.groups) {
    std::vector<PackedItem>& items = groups.emplace_back();
    items.reserve(packs.items.size());
    for (const ItemIndex item : packs.items)
      items.push_back({static_cast<std::int32_t>(loss_tokens[item]), packing.lengths_tokens[item]});
  }
  return groups;
}

// Samples of at least so many tokens hold the half of the loss tokens which lies in the longest ones, counted
// once an epoch.
std::int64_t long_tokens(const std::vector<std::vector<PackedItem>>& groups) {
  std::vector<std::int64_t> tokens_of;  // by length
  std::int64_t all = 0;
  for (const std::vector<PackedItem>& items : groups) {
    for (const PackedItem& item : items) {
      const auto length = static_cast<std::size_t>(item.length_tokens);
      if (length >= tokens_of.size()) tokens_of.resize(length + 1);
      tokens_of[length] += item.loss_tokens;
      all += item.loss_tokens;
    }
  }
  std::int64_t above = 0;
  for (std::size_t length = tokens_of.size(); length-- > 0;) {
    above += tokens_of[length];
    if (2 * above >= all) return static_cast<std::int64_t>(length);
  }
  return 0;
}

// The samples with loss tokens of one iteration, those of a pack beside each other.
struct IterationSamples {
  std::vector<double> tokens;          // [n_samples] with loss
  std::vector<double> long_tokens;     // [n_samples] the same of long samples, 0 of others
  std::vector<std::size_t> pack_ends;  // [n_packs] the number of samples up to the pack's last
  double all_tokens = 0;
  double all_long_tokens = 0;

  void clear() {
    tokens.clear();
    long_tokens.clear();
    pack_ends.clear();
    all_tokens = all_long_tokens = 0;
  }
  void add(double n, bool is_long) {
    tokens.push_back(n);
    long_tokens.push_back(is_long ? n : 0);
    all_tokens += n;
    all_long_tokens += long_tokens.back();
  }
};

// One normaliser's sums over iterations.
class BiasSum {
 public:
  explicit BiasSum(const Normaliser& normaliser) : normaliser_(normaliser) {}

  void add(std::span<const LossPlace> places, const IterationSamples& samples) {
    const std::size_t n_samples = samples.tokens.size();
    weights_.resize(n_samples);
    double sum = 0;
    double of_long = 0;
    std::size_t i = 0;
    for (std::size_t p = 0; p < places.size(); ++p) {
      if (i == samples.pack_ends[p]) continue;
      const double weight = normaliser_.pack_weight(places[p]);
      for (; i < samples.pack_ends[p]; ++i) {
        weights_[i] = normaliser_.per_sample ? weight / samples.tokens[i] : weight;
        sum += samples.tokens[i] * weights_[i];
        of_long += samples.long_tokens[i] * weights_[i];
      }
    }
    const double even = 1 / samples.all_tokens;
    double differences = 0;
    for (i = 0; i < n_samples; ++i) differences += samples.tokens[i] * std::abs(weights_[i] / sum - even);
    ++n_iterations_;
    bias_.misplaced_fraction += differences / 2;
    bias_.least_sum = std::min(bias_.least_sum, sum);
    bias_.most_sum = std::max(bias_.most_sum, sum);
    long_share_of_weight_ += of_long / sum;
    long_share_of_tokens_ += samples.all_long_tokens / samples.all_tokens;
  }

  LossBias result() const {
    if (n_iterations_ == 0) return {};
    LossBias bias = bias_;
    bias.misplaced_fraction /= static_cast<double>(n_iterations_);
    bias.long_sample_weight = long_share_of_weight_ / long_share_of_tokens_;
    return bias;
  }

 private:
  const Normaliser& normaliser_;
  LossBias bias_{.least_sum = std::numeric_limits<double>::infinity(), .most_sum = 0};
  double long_share_of_weight_ = 0;
  double long_share_of_tokens_ = 0;
  std::int64_t n_iterations_ = 0;
  std::vector<double> weights_;  // [n_samples] of a token, in the iteration at hand
};

}  // namespace

std::vector<LossBias> loss_bias(const Packing& packing, const Schedule& schedule,
                                const LossTokens& loss_tokens,
                                std::span<const std::vector<LossCounts>> losses,
                                std::span<const Normaliser> normalisers) {
  const std::vector<std::vector<PackedItem>> items = packed_items(packing, loss_tokens);
  const std::int64_t from_tokens = long_tokens(items);
  std::vector<BiasSum> sums(normalisers.begin(), normalisers.end());
  LossPlaces places(schedule, losses);
  IterationSamples samples;
  for (const Iteration& iteration : schedule.iterations) {
    samples.clear();
    for (const PlacedPack& placed : schedule.packs(iteration)) {
      const std::vector<std::uint32_t>& offsets = packing.groups[placed.group].offsets;
      const std::size_t first = offsets[placed.pack];
      for (const PackedItem& item :
           std::span(items[placed.group]).subspan(first, offsets[placed.pack + 1] - first)) {
        if (item.loss_tokens > 0) samples.add(item.loss_tokens, item.length_tokens >= from_tokens);
      }
      samples.pack_ends.push_back(samples.tokens.size());
    }
    if (samples.tokens.empty()) continue;
    const std::span<const LossPlace> of_packs = places.of(iteration);
    for (BiasSum& sum : sums) sum.add(of_packs, samples);
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
