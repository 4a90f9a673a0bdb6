#include "packing/planner/degree_costs.hpp"

#include <algorithm>
#include <limits>

namespace packsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

DegreeCosts::DegreeCosts(std::span<const BatchGroup> groups) : groups_(groups) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto known = std::ranges::find(degrees_, groups[g].sp_degree, &Degree::sp_degree);
    Degree& degree = known == degrees_.end() ? degrees_.emplace_back() : *known;
    degree.sp_degree = groups[g].sp_degree;
    degree.groups.push_back(g);
  }
  std::ranges::sort(degrees_, {}, &Degree::sp_degree);
  for (Degree& degree : degrees_) {
    std::int64_t before_tokens = 0;
    for (const std::size_t g : degree.groups) {
      const CostCurve& curve = groups[g].cost.tokens_s;
      const auto add = [&](std::int64_t tokens) {
        degree.points.push_back({tokens, curve.at(tokens) / static_cast<double>(tokens)});
      };
      for (const std::int64_t tokens : curve.tokens) {
        if (tokens > before_tokens && tokens < groups[g].capacity_tokens) add(tokens);
      }
      if (groups[g].capacity_tokens > before_tokens) add(groups[g].capacity_tokens);
      before_tokens = groups[g].capacity_tokens;
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
  const std::vector<std::size_t>& groups = degrees_[degree].groups;
  const auto fits = [&](std::size_t g) { return groups_[g].capacity_tokens >= tokens; };
  return *std::ranges::find_if(groups, fits);
}

double DegreeCosts::share_s(std::size_t degree, std::int64_t length_tokens) const {
  const std::vector<Point>& points = degrees_[degree].points;
  const auto at = std::ranges::lower_bound(points, length_tokens, {}, &Point::tokens);
  if (at == points.end()) return kNever;
  const BatchGroup& group = groups_[group_of(degree, std::max(length_tokens, degrees_[degree].best_tokens))];
  return static_cast<double>(length_tokens) * at->least_s_per_token + group.cost.document_s.at(length_tokens);
}

double DegreeCosts::alone_s(std::size_t degree, std::int64_t length_tokens) const {
  if (length_tokens > most_tokens(degree)) return kNever;
  const auto length = static_cast<std::int32_t>(length_tokens);
  return pack_s(degree, {&length, 1});
}

double DegreeCosts::pack_s(std::size_t degree, std::span<const std::int32_t> lengths_tokens) const {
  std::int64_t tokens = 0;
  for (const std::int32_t length : lengths_tokens) tokens += length;
  return pack_time_s(groups_[group_of(degree, tokens)].cost, lengths_tokens);
}

}  // namespace packsim
