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
/// If the profile does not have the pass, the price is that of the other pass times the ratio of their flop.
/// If it has neither pass, the price is the flop divided by flop_per_s. Both have the evidence `missing`.
class AttentionPricer {
 public:
  AttentionPricer(const HardwareProfile& profile, std::string_view pass, const AttentionShape& shape,
                  double flop_per_s = kH100AttentionFlopPerS);

  /// Attention time of one pack on one GPU. If the profile has the pass, time, error and evidence are those
  /// of kernel_time(). The errors of all documents add up, as they come from one curve.
  ///
  /// lengths_tokens: of the pack's documents, each above 0; padding counts as one more document.
  /// window_tokens: the most tokens to which a token attends; 0: no limit. A longer document takes
  /// windowed_share() of its time.
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
  double scale_ = 1;  // factor on the times of the other pass, if the profile lacks this one
  AttentionShape shape_;
  bool is_backward_ = false;
  double flop_per_s_ = 0;
  std::vector<CurveTime> documents_;  // by length; a time under 0: not asked for yet
};

/// The share of a causal document's pairs that are inside the window; 1 where window_tokens is 0.
double windowed_share(std::int64_t length_tokens, std::int64_t window_tokens);

}  // namespace packsim
