#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/indexed_curve.hpp"

namespace packsim {

/// The cost of packs at each SP degree of a setting. A pack has the cost of the first group of its degree
/// that can hold it.
class DegreeCosts {
 public:
  /// groups: kept by reference. Those of one degree must be in ascending order of capacity, and all must be
  /// priced.
  explicit DegreeCosts(std::span<const BatchGroup> groups);

  std::size_t n_groups() const { return groups_.size(); }
  std::size_t n_degrees() const { return degrees_.size(); }
  /// Ascending.
  int gpus_per_pack(std::size_t degree) const { return degrees_[degree].gpus_per_pack; }
  std::int64_t most_tokens(std::size_t degree) const { return degrees_[degree].points.back().tokens; }
  struct Group {
    std::int64_t capacity_tokens = 0;
    std::size_t index = 0;  ///< in the setting
  };
  /// The groups of a degree, in ascending order of capacity.
  std::span<const Group> groups(std::size_t degree) const { return degrees_[degree].groups; }
  /// The group of a pack of this many tokens, which may be at most most_tokens().
  std::size_t group_of(std::size_t degree, std::int64_t tokens) const;

  /// The pack length at which a token costs least.
  std::int64_t best_tokens(std::size_t degree) const { return degrees_[degree].best_tokens; }
  /// The cost of a document at one degree. Infinite if no pack of the degree can hold it.
  struct LengthCost {
    /// Time that the document adds to its pack, if the pack has the cheapest length per token among those
    /// that can hold the document.
    double share_s = -1;  // below 0: not asked for yet
    double alone_s = 0;   ///< time of a pack that holds only this document
  };
  /// [n_degrees], valid until the next call.
  std::span<const LengthCost> of_length(std::int64_t length_tokens) const {
    const auto first = static_cast<std::size_t>(length_tokens) * n_degrees();
    if (first < by_length_.size() && by_length_[first].share_s >= 0)
      return std::span(by_length_).subspan(first, n_degrees());
    return make_costs(length_tokens);
  }
  double share_s(std::size_t degree, std::int64_t length_tokens) const {
    return of_length(length_tokens)[degree].share_s;
  }
  double alone_s(std::size_t degree, std::int64_t length_tokens) const {
    return of_length(length_tokens)[degree].alone_s;
  }
  /// Attention time of a document in a pack of this many tokens.
  double attention_s(std::size_t degree, std::int64_t length_tokens, std::int64_t pack_tokens) const;
  /// Time of a pack of this many tokens, at most most_tokens(), without its attention.
  double tokens_s(std::size_t degree, std::int64_t tokens) const;
  double pack_s(std::size_t degree, std::span<const std::int32_t> lengths_tokens) const;
  /// Attention time that one document adds to a pack of a group. If many lengths are asked for once each, it
  /// is better not to keep the answers.
  double document_once_s(std::size_t group, std::int64_t length_tokens) const {
    return document_curves_[group].at(length_tokens);
  }
  /// The same, and keeps it.
  double document_s(std::size_t group, std::int64_t length_tokens) const {
    const std::vector<double>& kept = document_s_[group];
    const auto index = static_cast<std::size_t>(length_tokens);
    if (index < kept.size() && kept[index] >= 0) return kept[index];
    return make_document_s(group, length_tokens);
  }
  /// Time of a pack of a group. documents_s: the sum of document_s() over its documents.
  double pack_s(std::size_t group, std::int64_t tokens, double documents_s,
                std::int64_t longest_tokens) const {
    const PackCost& cost = groups_[group].cost;
    const double attention = cost.attention_s(documents_s, longest_tokens);
    return token_curves_[group].at(tokens) + attention - cost.hidden_s(tokens, attention);
  }

 private:
  // Costs of shorter lengths are cached; those of longer ones are computed every time.
  static constexpr std::size_t kMostKept = std::size_t{1} << 18;
  std::span<const LengthCost> make_costs(std::int64_t length_tokens) const;
  double make_document_s(std::size_t group, std::int64_t length_tokens) const;
  LengthCost make_cost(std::size_t degree, std::int64_t length_tokens) const;

  struct Point {
    std::int64_t tokens = 0;
    double least_s_per_token = 0;  // the least of all packs with at least this many tokens
  };
  struct Degree {
    int gpus_per_pack = 1;
    std::vector<Group> groups;
    std::vector<Point> points;  // ascending
    std::int64_t best_tokens = 0;
  };

  std::span<const BatchGroup> groups_;
  std::vector<IndexedCurve> token_curves_;     // [n_groups]
  std::vector<IndexedCurve> document_curves_;  // [n_groups]
  std::vector<Degree> degrees_;
  mutable std::vector<LengthCost> by_length_;            // cache: [longest length so far + 1][n_degrees]
  mutable std::vector<std::vector<double>> document_s_;  // [n_groups] by length; below 0: not asked for yet
  mutable std::vector<LengthCost> too_long_to_keep_;
};

/// Time that the items would take on all GPUs, each at its cheapest degree, if they could be divided evenly.
double even_time_s(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                   std::span<const ItemIndex> items, int n_gpus);

}  // namespace packsim
