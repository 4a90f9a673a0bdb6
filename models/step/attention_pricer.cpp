#include "models/step/attention_pricer.hpp"

#include <algorithm>
#include <numeric>

#include "models/step/extrapolation_error.hpp"

namespace packsim {
namespace {

constexpr double kBackwardPerForward = 2.5;  // flop: it computes the scores again

// Pairs of all queries up to a token of a document, with a window of at least one token.
double pairs_up_to(double token, double window) {
  const double seen = std::min(token, window);
  return seen * (seen + 1) / 2 + (token - seen) * window;
}

}  // namespace

double windowed_share(std::int64_t length_tokens, const AttentionWindow& window) {
  if (window.tokens <= 0 || length_tokens <= window.tokens) return 1;
  const auto length = static_cast<double>(length_tokens);
  const auto limit = static_cast<double>(window.tokens);
  const double ring = window.ring;
  const bool is_zigzag = window.layout == RingLayout::zigzag;
  // The slowest GPU has chunks ring - 1 and ring of 2 x ring, which lie side by side, or the last chunk.
  const double start = length * (ring - 1) / (is_zigzag ? 2 * ring : ring);
  const double end = is_zigzag ? length * (ring + 1) / (2 * ring) : length;
  return (pairs_up_to(end, limit) - pairs_up_to(start, limit)) /
         (pairs_up_to(end, length) - pairs_up_to(start, length));
}

AttentionPricer::AttentionPricer(const HardwareProfile& profile, std::string_view pass,
                                 const AttentionShape& shape, double flop_per_s, int ring)
    : shape_(shape), is_backward_(pass == "bwd"), flop_per_s_(flop_per_s), ring_(ring) {
  const AttentionHeads heads{static_cast<double>(shape.heads), static_cast<double>(shape.kv_heads),
                             static_cast<double>(shape.head_dim)};
  attention_ = AttentionDocuments::of(profile, pass, heads);
  if (attention_) return;
  attention_ = AttentionDocuments::of(profile, is_backward_ ? "fwd" : "bwd", heads);
  scale_ = is_backward_ ? kBackwardPerForward : 1 / kBackwardPerForward;
}

const CurveTime& AttentionPricer::document(std::int32_t length_tokens) {
  const auto index = static_cast<std::size_t>(length_tokens);
  if (index >= documents_.size())
    documents_.resize(std::max(index + 1, 2 * documents_.size()), {.time_s = -1});
  CurveTime& document = documents_[index];
  if (document.time_s < 0) document = document_of(length_tokens / ring_);
  return document;
}

CurveTime AttentionPricer::document_of(double length_tokens) const {
  if (attention_) return attention_->document(length_tokens);
  // Two products of 2 flop a pair, over half of the square.
  const double flop = 2.0 * shape_.heads * shape_.head_dim * length_tokens * length_tokens;
  return {flop * (is_backward_ ? kBackwardPerForward : 1) / flop_per_s_, kExtrapolationError};
}

AttentionPricer::Parts AttentionPricer::parts() const {
  if (!attention_) return {};
  return {.launch_s = scale_ * attention_->launch_s(),
          .longest_s_per_token = scale_ * attention_->longest_s_per_token() / ring_};
}

double AttentionPricer::document_s(std::int32_t length_tokens, const AttentionWindow& window) {
  const double part_tokens = window.tokens > 0 ? length_tokens : length_tokens / ring_;
  const double work_s =
      attention_ ? scale_ * attention_->document_work_s(part_tokens) : document_of(part_tokens).time_s;
  return windowed_share(length_tokens, window) * work_s;
}

TimeEstimate AttentionPricer::pack(std::span<const std::int32_t> lengths_tokens,
                                   const AttentionWindow& window) {
  AttentionSum sum;
  for (const std::int32_t length : lengths_tokens) {
    const bool is_whole = window.tokens > 0 && ring_ > 1;
    const double share = windowed_share(length, window);
    const double part_tokens = is_whole ? length : length / ring_;
    sum.add(is_whole ? document_of(length) : document(length), share * part_tokens, share);
  }
  return time_of(sum);
}

TimeEstimate AttentionPricer::shared(std::span<const std::int32_t> lengths_tokens, double share) {
  AttentionSum sum;
  for (const std::int32_t length : lengths_tokens) sum.add(document(length), length, share);
  return time_of(sum);
}

TimeEstimate AttentionPricer::slowest_chunk(std::span<const std::int32_t> lengths_tokens, int gpus) {
  const double chunk = std::reduce(lengths_tokens.begin(), lengths_tokens.end(), 0.0) / gpus;
  std::vector<AttentionSum> sums(static_cast<std::size_t>(gpus));
  double start = 0;
  for (const std::int32_t length : lengths_tokens) {
    const double end = start + length;
    for (auto gpu = static_cast<std::size_t>(start / chunk); gpu < sums.size(); ++gpu) {
      // The queries in the chunk, from the document's start; the pairs up to a token grow with its square.
      const double first = std::max(start, static_cast<double>(gpu) * chunk) - start;
      const double last = std::min(end, static_cast<double>(gpu + 1) * chunk) - start;
      if (last <= first) break;
      sums[gpu].add(document(length), last, (last * last - first * first) / (1.0 * length * length));
    }
    start = end;
  }
  TimeEstimate slowest;
  for (const AttentionSum& sum : sums) {
    const TimeEstimate time = time_of(sum);
    if (time.time_s >= slowest.time_s) slowest = time;
  }
  return slowest;
}

TimeEstimate AttentionPricer::time_of(const AttentionSum& sum) const {
  if (sum.work_s <= 0) return {.evidence = Evidence::measured};
  if (!attention_) return {sum.work_s, sum.error_s, Evidence::missing};
  const CurveTime time = attention_->pack(sum);
  const double time_s = scale_ * time.time_s;
  if (scale_ == 1) return {time_s, time_s * time.relative_error, time.evidence};
  return {time_s, time_s * together(time.relative_error, kExtrapolationError), Evidence::missing};
}

}  // namespace packsim
