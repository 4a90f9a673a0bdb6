#include "packing/planner/degree_costs.hpp"

#include <algorithm>

#include "packing/algorithms/never.hpp"

namespace packsim {

DegreeCosts::DegreeCosts(std::span<const BatchGroup> groups) : groups_(groups), document_s_(groups.size()) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    token_curves_.emplace_back(groups[g].cost.tokens_s);
    document_curves_.emplace_back(groups[g].cost.document_s);
    const auto known = std::ranges::find(degrees_, groups[g].gpus_per_pack, &Degree::gpus_per_pack);
    Degree& degree = known == degrees_.end() ? degrees_.emplace_back() : *known;
    degree.gpus_per_pack = groups[g].gpus_per_pack;
    degree.groups.push_back({groups[g].capacity_tokens, g});
  }
  std::ranges::sort(degrees_, {}, &Degree::gpus_per_pack);
  for (Degree& degree : degrees_) {
    std::int64_t before_tokens = 0;
    for (const auto& [capacity_tokens, g] : degree.groups) {
      const CostCurve& curve = groups[g].cost.tokens_s;
      const auto add = [&](std::int64_t tokens) {
        degree.points.push_back({tokens, curve.at(tokens) / static_cast<double>(tokens)});
      };
      for (const std::int64_t tokens : curve.tokens) {
        if (tokens > before_tokens && tokens < capacity_tokens) add(tokens);
      }
      if (capacity_tokens > before_tokens) add(capacity_tokens);
      before_tokens = capacity_tokens;
    }
    const auto best = std::ranges::min_element(degree.points, {}, &Point::least_s_per_token);
    degree.best_tokens = best->tokens;
    for (std::size_t i = degree.points.size() - 1; i-- > 0;) {
      degree.points[i].least_s_per_token =
          std::min(degree.points[i].least_s_per_token, degree.points[i + 1].least_s_per_token);
    }
  }
}

std::size_t DegreeCosts::group_of(std::size_t degree, std::int64_t tokens) const {
  const auto fits = [&](const Group& group) { return group.capacity_tokens >= tokens; };
  return std::ranges::find_if(degrees_[degree].groups, fits)->index;
}

std::span<const DegreeCosts::LengthCost> DegreeCosts::make_costs(std::int64_t length_tokens) const {
  const auto index = static_cast<std::size_t>(length_tokens);
  std::span<LengthCost> costs;
  if (index < kMostKept) {
    const std::size_t n_kept = by_length_.size() / n_degrees();
    if (index >= n_kept)
      by_length_.resize(std::min(kMostKept, std::max(index + 1, 2 * n_kept)) * n_degrees());
    costs = std::span(by_length_).subspan(index * n_degrees(), n_degrees());
  } else {
    too_long_to_keep_.resize(n_degrees());
    costs = too_long_to_keep_;
  }
  for (std::size_t d = 0; d < n_degrees(); ++d) costs[d] = make_cost(d, length_tokens);
  return costs;
}

double DegreeCosts::make_document_s(std::size_t group, std::int64_t length_tokens) const {
  const double time_s = document_curves_[group].at(length_tokens);
  const auto index = static_cast<std::size_t>(length_tokens);
  if (index >= kMostKept) return time_s;
  std::vector<double>& kept = document_s_[group];
  if (index >= kept.size()) kept.resize(std::min(kMostKept, std::max(index + 1, 2 * kept.size())), -1);
  return kept[index] = time_s;
}

DegreeCosts::LengthCost DegreeCosts::make_cost(std::size_t degree, std::int64_t length_tokens) const {
  const Degree& own = degrees_[degree];
  const auto at = std::ranges::lower_bound(own.points, length_tokens, {}, &Point::tokens);
  if (at == own.points.end()) return {.share_s = kNever, .alone_s = kNever};
  const std::size_t group = group_of(degree, std::max(length_tokens, own.best_tokens));
  const auto length = static_cast<std::int32_t>(length_tokens);
  const double attention = document_curves_[group].at(length_tokens);
  return {.share_s = static_cast<double>(length_tokens) * at->least_s_per_token + attention -
                     groups_[group].cost.hidden_s(length_tokens, attention),
          .alone_s = pack_s(degree, {&length, 1})};
}

double DegreeCosts::attention_s(std::size_t degree, std::int64_t length_tokens,
                                std::int64_t pack_tokens) const {
  return document_curves_[group_of(degree, std::max(length_tokens, pack_tokens))].at(length_tokens);
}

double DegreeCosts::tokens_s(std::size_t degree, std::int64_t tokens) const {
  return token_curves_[group_of(degree, tokens)].at(tokens);
}

double DegreeCosts::pack_s(std::size_t degree, std::span<const std::int32_t> lengths_tokens) const {
  std::int64_t tokens = 0;
  std::int32_t longest_tokens = 0;
  for (const std::int32_t length : lengths_tokens) {
    tokens += length;
    longest_tokens = std::max(longest_tokens, length);
  }
  const std::size_t group = group_of(degree, tokens);
  double documents_s = 0;
  for (const std::int32_t length : lengths_tokens) documents_s += document_s(group, length);
  return pack_s(group, tokens, documents_s, longest_tokens);
}

double even_time_s(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                   std::span<const ItemIndex> items, int n_gpus) {
  double gpu_s = 0;
  for (const ItemIndex item : items) {
    double least_s = kNever;
    for (std::size_t d = 0; d < costs.n_degrees(); ++d)
      least_s = std::min(least_s, costs.gpus_per_pack(d) * costs.share_s(d, lengths_tokens[item]));
    gpu_s += least_s;
  }
  return gpu_s / n_gpus;
}

}  // namespace packsim
