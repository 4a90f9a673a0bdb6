#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/curve_time.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/kernels/kernel_times.hpp"

namespace packsim {

struct AttentionHeads {
  double heads = 0;
  double kv_heads = 0;
  double head_dim = 0;
};

/// A measured head shape near one that was not measured, by heads and by heads for each key-value head.
struct AttentionNeighbour {
  struct Heads {
    double heads = 0;
    double kv_heads = 0;
    double per_kv_head() const { return heads / kv_heads; }
  };
  const KernelCurve* curve = nullptr;
  Heads heads;
  double distance = 0;
  double weight = 0;
};

/// The documents of one pack, added up.
struct AttentionSum {
  double work_s = 0;
  double error_s = 0;  ///< documents share their curve's errors, so these add up
  double longest_tokens = 0;
  std::array<double, kNEvidenceLevels> by_evidence_s = {};

  /// times: number of such documents, or the part of one.
  void add(const CurveTime& document, double length_tokens, double times) {
    work_s += times * document.time_s;
    error_s += times * document.time_s * document.relative_error;
    longest_tokens = std::max(longest_tokens, length_tokens);
    by_evidence_s[static_cast<std::size_t>(document.evidence)] += times * document.time_s;
  }
};

/// Attention of one pass and head shape, document by document, to price many packs. The profile must outlive
/// it. kernel_time() of an attention case is pack() of the sum of document() over all.
class AttentionDocuments {
 public:
  /// Nullopt if the profile has no attention of the pass.
  static std::optional<AttentionDocuments> of(const HardwareProfile& profile, std::string_view pass,
                                              const AttentionHeads& heads);
  /// without_curve: as if the heads had no curve of their own, for fits that leave it out.
  AttentionDocuments(const HardwareProfile& profile, const KernelModel& model, const AttentionHeads& heads,
                     bool without_curve);

  /// Work of one document on a full GPU, at the head_dim that was measured.
  CurveTime document(double length_tokens) const;
  /// documents: at least one. Documents that together take very little do not decide the evidence.
  CurveTime pack(const AttentionSum& documents) const;
  std::string basis() const;

  // pack() of documents of work w_i is launch_s() + ((longest_s_per_token() x the longest)^4 + (sum
  // w_i)^4)^(1/4), where one document's w is document_work_s().
  double launch_s() const { return head_dim_scale_ * launch_s_; }
  double longest_s_per_token() const { return head_dim_scale_ * tail_s_per_token_; }
  double document_work_s(double length_tokens) const {
    return head_dim_scale_ * document(length_tokens).time_s;
  }

 private:
  double pack_error(double longest_tokens) const;
  double outside(double longest_tokens) const;

  const KernelModel* model_;
  AttentionWork work_;
  AttentionHeads heads_;
  double head_dim_scale_ = 1;
  double launch_s_ = 0;
  double tail_s_per_token_ = 0;
  const KernelCurve* curve_ = nullptr;
  std::vector<AttentionNeighbour> neighbours_;
};

}  // namespace packsim
