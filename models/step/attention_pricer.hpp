#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/kernels/attention_documents.hpp"
#include "models/layers/layer_ops.hpp"
#include "models/step/kernel_pricer.hpp"
#include "models/step/reached_rates.hpp"

namespace packsim {

/// Prices the attention of many packs, for one pass and head shape. Each document length is priced once.
/// Where the profile does not have the pass, the other pass times the ratio of their flop is the price; where
/// it has neither, the flop at flop_per_s. Both have the evidence `missing`.
class AttentionPricer {
 public:
  AttentionPricer(const HardwareProfile& profile, std::string_view pass, const AttentionShape& shape,
                  double flop_per_s = kH100AttentionFlopPerS);

  /// lengths_tokens: of the pack's documents, over 0; padding is one more. window_tokens: 0, or what a token
  /// sees at most: a document longer than that takes the share of its time that it keeps of its pairs.
  /// The time is that of one GPU. Time, error and evidence are those of kernel_time() where the profile has
  /// the pass. Documents err together.
  TimeEstimate pack(std::span<const std::int32_t> lengths_tokens, std::int64_t window_tokens = 0);

  /// The parts of pack(): launch_s + ((longest_s_per_token x the longest length)^4 + sum^4)^(1/4), where the
  /// sum is over document_s() of all documents.
  struct Parts {
    double launch_s = 0;
    double longest_s_per_token = 0;
  };
  Parts parts() const;
  double document_s(std::int32_t length_tokens, std::int64_t window_tokens = 0);

 private:
  const CurveTime& document(std::int32_t length_tokens);

  std::optional<AttentionDocuments> attention_;
  double scale_ = 1;  // of another pass that stands in
  AttentionShape shape_;
  bool is_backward_ = false;
  double flop_per_s_ = 0;
  std::vector<CurveTime> documents_;  // by length; a time under 0: not asked for yet
};

/// The share of a causal document's pairs that are inside the window; 1 where window_tokens is 0.
double windowed_share(std::int64_t length_tokens, std::int64_t window_tokens);

}  // namespace packsim
