#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/pack.hpp"

namespace packsim {

/// The number of tokens of an item that carry loss. Unless given, all do but the first, which nothing
/// predicts: what comes before it in a pack is another sample.
class LossTokens {
 public:
  explicit LossTokens(const Packing& packing) : lengths_tokens_(packing.lengths_tokens) {}
  /// given: [n_items], or empty. Throws std::invalid_argument for another size, and for numbers outside 0 to
  /// the item's length, naming the first.
  LossTokens(const Packing& packing, std::span<const std::int32_t> given);

  std::int64_t operator[](ItemIndex item) const {
    if (!given_.empty()) return given_[item];
    return lengths_tokens_[item] > 0 ? lengths_tokens_[item] - 1 : 0;
  }

  /// Asks memory for an item further on: items of a pack lie anywhere in the data set, and waiting for each
  /// takes longer than all the rest of a pass over them.
  [[gnu::always_inline]] void load_ahead(std::span<const ItemIndex> items, std::size_t i) const {
    constexpr std::size_t kAhead = 32;
    if (i + kAhead >= items.size()) return;
    const ItemIndex item = items[i + kAhead];
    __builtin_prefetch(&lengths_tokens_[item]);
    if (!given_.empty()) __builtin_prefetch(&given_[item]);
  }

 private:
  std::span<const std::int32_t> lengths_tokens_;  // [n_items]
  std::span<const std::int32_t> given_;           // [n_items], or empty
};

/// What a mean of losses is taken over: tokens with loss, and samples that have any. A piece of a cut sample
/// counts as a sample.
struct LossCounts {
  std::int64_t loss_tokens = 0;
  std::int64_t n_samples = 0;

  LossCounts& operator+=(const LossCounts& other) {
    loss_tokens += other.loss_tokens;
    n_samples += other.n_samples;
    return *this;
  }
};

/// [n_groups][n_packs] of each pack.
std::vector<std::vector<LossCounts>> count_losses(const Packing& packing, const LossTokens& loss_tokens);

}  // namespace packsim
