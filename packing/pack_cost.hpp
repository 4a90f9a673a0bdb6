#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace packsim {

/// Seconds as a function of tokens, linear between the points. Below the first and above the last point, the
/// first and the last line are extended.
struct CostCurve {
  std::vector<std::int64_t> tokens;  ///< [n_points], ascending; if empty, all times are 0
  std::vector<double> time_s;        ///< [n_points]

  double at(std::int64_t tokens_at) const;
  /// The same for who knows the first point of at least so many tokens. above: its index; n_points if there
  /// is none.
  double between(std::size_t above, std::int64_t tokens_at) const {
    if (tokens.size() < 2) return tokens.empty() ? 0 : time_s.front();
    const std::size_t high = std::clamp<std::size_t>(above, 1, tokens.size() - 1);
    const std::size_t low = high - 1;
    const double part =
        static_cast<double>(tokens_at - tokens[low]) / static_cast<double>(tokens[high] - tokens[low]);
    return time_s[low] + part * (time_s[high] - time_s[low]);
  }
};

/// Reads a curve at ascending numbers of tokens, which takes less than a search for each.
class AscendingCurve {
 public:
  explicit AscendingCurve(const CostCurve& curve) : curve_(curve) {}  // kept by reference
  double at(std::int64_t tokens_at) {
    while (above_ < curve_.tokens.size() && curve_.tokens[above_] < tokens_at) ++above_;
    return curve_.between(above_, tokens_at);
  }

 private:
  const CostCurve& curve_;
  std::size_t above_ = 0;  // the first point of at least as many tokens as were asked for last
};

/// Time of a pack on each of its GPUs, forward and backward, once all of them have started. One curve has
/// everything that depends on the number of tokens, recomputation and exchange included; another has the
/// attention of each document.
///
/// Attention kernels run the documents of a pack side by side. So attention takes as long as the sum over all
/// documents or as the longest one alone, whichever is longer, and a little more if the two are about equal.
struct PackCost {
  CostCurve tokens_s;              ///< by the tokens of the pack
  CostCurve document_s;            ///< by the tokens of one document
  double longest_s_per_token = 0;  ///< attention time for each token of the longest document
  /// The part of tokens_s that runs beside attention and may be hidden by it, by the tokens of the pack: the
  /// transfers of ring attention. Empty: nothing.
  CostCurve transfers_s = {};
  double hiding_fraction = 0;  ///< the share of the attention time that can hide them

  /// documents_s: the sum over the pack's documents.
  double pack_s(std::int64_t pack_tokens, double documents_s, std::int64_t longest_tokens = 0) const {
    const double attention = attention_s(documents_s, longest_tokens);
    return tokens_s.at(pack_tokens) + attention - hidden_s(pack_tokens, attention);
  }
  /// The part of the transfers that attention of so many seconds hides.
  double hidden_s(std::int64_t pack_tokens, double attention) const {
    if (transfers_s.tokens.empty()) return 0;
    return std::min(transfers_s.at(pack_tokens), hiding_fraction * attention);
  }
  /// The part of pack_s() that is attention.
  double attention_s(double documents_s, std::int64_t longest_tokens) const {
    const double longest_s = longest_s_per_token * static_cast<double>(longest_tokens);
    if (longest_s <= 0) return documents_s;
    const double square = documents_s * documents_s;
    const double longest_square = longest_s * longest_s;
    return std::sqrt(std::sqrt(square * square + longest_square * longest_square));
  }
};

/// Seconds that a pack with documents of these lengths takes.
double pack_time_s(const PackCost& cost, std::span<const std::int32_t> lengths_tokens);

}  // namespace packsim
