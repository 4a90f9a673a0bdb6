#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packing/pack.hpp"

namespace packsim {

/// Which tokens of each sample have loss, as spans of neighbouring tokens. Samples that are cut need them: a
/// number of tokens does not say how many of them are in which piece.
struct LossSpans {
  std::span<const std::int64_t>
      offsets;  ///< [n_samples + 1]: sample s has the spans [offsets[s], offsets[s + 1])
  std::span<const std::int32_t> begins;  ///< [n_spans] first token, ascending in each sample
  std::span<const std::int32_t> ends;    ///< [n_spans] behind the last token; no later than the next begins
};

/// lengths_tokens: [n_samples] of the whole samples. Throws std::invalid_argument for arrays that do not fit
/// together, and for spans that are out of order, overlap or do not lie in their sample, naming the first.
void check_loss_spans(const LossSpans& spans, std::span<const std::int32_t> lengths_tokens);

/// [n_items] tokens of each item that have loss, as LossTokens takes them. The first token of an item has
/// none, as nothing in front of it predicts it.
///
/// lengths_tokens: [n_samples] of the whole samples, of which `packing` was made. Throws as
/// check_loss_spans().
std::vector<std::int32_t> loss_tokens_of_items(const Packing& packing,
                                               std::span<const std::int32_t> lengths_tokens,
                                               const LossSpans& spans);

}  // namespace packsim
