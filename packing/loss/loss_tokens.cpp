#include "packing/loss/loss_tokens.hpp"

#include <stdexcept>
#include <string>

namespace packsim {

LossTokens::LossTokens(const Packing& packing, std::span<const std::int32_t> given)
    : lengths_tokens_(packing.lengths_tokens), given_(given) {
  if (given.empty()) return;
  if (given.size() != lengths_tokens_.size()) {
    throw std::invalid_argument("loss_tokens: expected one number for each of " +
                                std::to_string(lengths_tokens_.size()) + " samples, got " +
                                std::to_string(given.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] >= 0 && given[i] <= lengths_tokens_[i]) continue;
    throw std::invalid_argument("loss_tokens[" + std::to_string(i) + "]: expected 0.." +
                                std::to_string(lengths_tokens_[i]) + ", the length of the sample, got " +
                                std::to_string(given[i]));
  }
}

std::vector<std::vector<LossCounts>> count_losses(const Packing& packing, const LossTokens& loss_tokens) {
  std::vector<std::vector<LossCounts>> counts;
  for (const PackSet& packs : packing.groups) {
    std::vector<LossCounts>& of_group = counts.emplace_back(packs.n_packs());
    for (std::size_t p = 0; p < packs.n_packs(); ++p) {
      for (std::size_t i = packs.offsets[p]; i < packs.offsets[p + 1]; ++i) {
        loss_tokens.load_ahead(packs.items, i);
        const std::int64_t tokens = loss_tokens[packs.items[i]];
        of_group[p] += {.loss_tokens = tokens, .n_samples = tokens > 0 ? 1 : 0};
      }
    }
  }
  return counts;
}

}  // namespace packsim
