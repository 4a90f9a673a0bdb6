#include "packing/loss/loss_spans.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace packsim {
namespace {

[[noreturn]] void refuse_spans(const std::string& expected, std::int64_t got) {
  throw std::invalid_argument(expected + ", got " + std::to_string(got));
}

void check_offsets(const LossSpans& spans, std::size_t n_samples) {
  if (spans.offsets.size() != n_samples + 1)
    refuse_spans("expected " + std::to_string(n_samples) + " samples",
           std::max<std::int64_t>(std::ssize(spans.offsets) - 1, 0));
  if (spans.begins.size() != spans.ends.size())
    refuse_spans("expected as many ends as begins, " + std::to_string(spans.begins.size()), std::ssize(spans.ends));
  if (spans.offsets.front() != 0) refuse_spans("expected the first offset to be 0", spans.offsets.front());
  const auto descent = std::ranges::adjacent_find(spans.offsets, std::ranges::greater());
  if (descent != spans.offsets.end())
    refuse_spans("expected offsets that do not fall, at least " + std::to_string(*descent), *(descent + 1));
  if (spans.offsets.back() != std::ssize(spans.begins))
    refuse_spans("expected the last offset to be " + std::to_string(spans.begins.size()), spans.offsets.back());
}

void check_spans(const LossSpans& spans, std::span<const std::int32_t> lengths_tokens) {
  for (std::size_t s = 0; s < lengths_tokens.size(); ++s) {
    std::int32_t before = 0;
    for (auto i = static_cast<std::size_t>(spans.offsets[s]); std::cmp_less(i, spans.offsets[s + 1]); ++i) {
      const bool is_right =
          spans.begins[i] >= before && spans.ends[i] > spans.begins[i] && spans.ends[i] <= lengths_tokens[s];
      if (!is_right) {
        throw std::invalid_argument("sample " + std::to_string(s) + ": expected a span of loss tokens in " +
                                    std::to_string(before) + ".." + std::to_string(lengths_tokens[s]) +
                                    ", got " + std::to_string(spans.begins[i]) + ".." +
                                    std::to_string(spans.ends[i]));
      }
      before = spans.ends[i];
    }
  }
}

// Tokens with loss among [begin, end) of a sample.
std::int32_t count(const LossSpans& spans, std::size_t sample, std::int32_t begin, std::int32_t end) {
  const auto first = static_cast<std::size_t>(spans.offsets[sample]);
  const auto last = static_cast<std::size_t>(spans.offsets[sample + 1]);
  const auto ends = spans.ends.subspan(first, last - first);
  std::int32_t tokens = 0;
  // A long sample of many turns is cut into many pieces: each looks up the first of its spans.
  const auto from = std::ranges::upper_bound(ends, begin) - ends.begin();
  for (std::size_t i = first + static_cast<std::size_t>(from); i < last && spans.begins[i] < end; ++i)
    tokens += std::min(spans.ends[i], end) - std::max(spans.begins[i], begin);
  return tokens;
}

}  // namespace

void check_loss_spans(const LossSpans& spans, std::span<const std::int32_t> lengths_tokens) {
  check_offsets(spans, lengths_tokens.size());
  check_spans(spans, lengths_tokens);
}

std::vector<std::int32_t> loss_tokens_of_items(const Packing& packing,
                                               std::span<const std::int32_t> lengths_tokens,
                                               const LossSpans& spans) {
  check_loss_spans(spans, lengths_tokens);
  std::vector<std::int32_t> loss_tokens(packing.lengths_tokens.size());
  for (std::size_t item = 0; item < loss_tokens.size(); ++item) {
    const Piece piece = packing.piece(static_cast<ItemIndex>(item));
    loss_tokens[item] =
        count(spans, piece.sample_index, piece.start_token + 1, piece.start_token + piece.n_tokens);
  }
  return loss_tokens;
}

}  // namespace packsim
