#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/kernels/attention_documents.hpp"
#include "models/layers/layer_ops.hpp"
#include "models/parallel_plan.hpp"
#include "models/step/kernel_pricer.hpp"
#include "models/step/reached_rates.hpp"

namespace packsim {

/// A sliding window, and the ring whose GPUs divide each document among them.
///
/// The GPUs of a ring have the keys and values of all of it (LayerPart::Kind::gather_keys). A GPU computes
/// the pairs of its own queries that are inside the window, and skips the rest.
struct AttentionWindow {
  std::int64_t tokens = 0;  ///< the most tokens to which a token attends; 0: no limit
  int ring = 1;
  RingLayout layout = RingLayout::zigzag;
  bool operator==(const AttentionWindow&) const = default;
};

/// The share that a window leaves of the pairs of a causal document that the slowest GPU of the ring
/// computes; 1 if the window is as long as the document.
///
/// Documents that the ring does not divide count as if tokens could be divided. Under a window all queries
/// have about as many pairs, but for those at the start of a document, which have fewer. So the slowest GPU
/// is the one in the middle of a zigzag, or the last one. Source: TransformerEngine,
/// get_kv_seq_info_after_all_gather() in pytorch/attention/dot_product_attention/context_parallel.py: each of
/// a GPU's two chunks of queries gets the keys from a window before its start up to its end.
double windowed_share(std::int64_t length_tokens, const AttentionWindow& window);

/// Prices the attention of many packs, for one pass and head shape. Each document length is priced once.
///
/// A GPU of a ring computes a document part by part. Each step has as many pairs as a causal document that is
/// shorter by the number of GPUs, and takes as long as one (two, in a contiguous layout). Prices are those of
/// one such part.
///
/// If the profile does not have the pass, the price is that of the other pass times the ratio of their flop.
/// If it has neither pass, the price is the flop divided by flop_per_s. Both have the evidence `missing`.
class AttentionPricer {
 public:
  AttentionPricer(const HardwareProfile& profile, std::string_view pass, const AttentionShape& shape,
                  double flop_per_s = kH100AttentionFlopPerS, int ring = 1);

  /// Attention time of one pack, or of one part of it, on one GPU. If the profile has the pass, time, error
  /// and evidence are those of kernel_time(). The errors of all documents add up, as they come from one
  /// curve.
  ///
  /// lengths_tokens: of the pack's documents, each above 0; padding counts as one more document.
  /// Under a window there are no parts, and a longer document takes windowed_share() of its time.
  TimeEstimate pack(std::span<const std::int32_t> lengths_tokens, const AttentionWindow& window = {});

  // Where each GPU has all keys and values (a pricer without a ring): the longest document is seen whole.
  /// The time of a GPU that computes this share of the pairs of every document.
  TimeEstimate shared(std::span<const std::int32_t> lengths_tokens, double share);
  /// The time of the slowest GPU, if each has the queries of one of so many equal chunks of the pack.
  TimeEstimate slowest_chunk(std::span<const std::int32_t> lengths_tokens, int gpus);

  /// The parts of pack(): launch_s + ((longest_s_per_token x the longest length)^4 + sum^4)^(1/4), where the
  /// sum is over document_s() of all documents.
  struct Parts {
    double launch_s = 0;
    double longest_s_per_token = 0;
  };
  Parts parts() const;
  double document_s(std::int32_t length_tokens, const AttentionWindow& window = {});

 private:
  TimeEstimate time_of(const AttentionSum& sum) const;
  const CurveTime& document(std::int32_t length_tokens);
  CurveTime document_of(double length_tokens) const;

  std::optional<AttentionDocuments> attention_;
  double scale_ = 1;  // factor on the times of the other pass, if the profile lacks this one
  AttentionShape shape_;
  bool is_backward_ = false;
  double flop_per_s_ = 0;
  double ring_ = 1;
  std::vector<CurveTime> documents_;  // by length; a time under 0: not asked for yet
};

}  // namespace packsim
