#include "models/layers/expert_spread.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <set>
#include <vector>

using namespace packsim;

namespace {

// Experts from the best score down.
using Ranking = std::vector<int>;

// Of the parts of so many experts, how many have any of a token's. sums_best: a group's score is that of its
// so many best experts, as the sum of their scores, which are 1 .. 0 along the ranking.
int parts_of(const Experts& experts, const Ranking& ranking, const std::vector<double>& scores, int n_parts,
             int sums_best) {
  const int group_size = experts.n_routed / experts.n_groups;
  std::vector<std::vector<double>> of_groups(static_cast<std::size_t>(experts.n_groups));
  for (std::size_t place = 0; place < ranking.size(); ++place)
    of_groups[static_cast<std::size_t>(ranking[place] / group_size)].push_back(scores[place]);
  std::vector<int> groups(of_groups.size());
  std::iota(groups.begin(), groups.end(), 0);
  const auto score = [&](int group) {
    const std::vector<double>& best = of_groups[static_cast<std::size_t>(group)];
    return std::accumulate(best.begin(), best.begin() + sums_best, 0.0);
  };
  std::ranges::stable_sort(groups, std::ranges::greater(), score);
  groups.resize(static_cast<std::size_t>(experts.groups_per_token));
  std::set<int> parts;
  int n_chosen = 0;
  for (const int expert : ranking) {
    if (n_chosen == experts.per_token) break;
    if (std::ranges::find(groups, expert / group_size) == groups.end()) continue;
    ++n_chosen;
    parts.insert(expert * n_parts / experts.n_routed);
  }
  return static_cast<int>(parts.size());
}

std::vector<double> falling_scores(int n) {
  std::vector<double> scores;
  for (int place = 0; place < n; ++place) scores.push_back(1 - static_cast<double>(place) / n);
  return scores;
}

// The mean over all orders of the experts.
double counted(const Experts& experts, int n_parts) {
  Ranking ranking(static_cast<std::size_t>(experts.n_routed));
  std::iota(ranking.begin(), ranking.end(), 0);
  const std::vector<double> scores = falling_scores(experts.n_routed);
  double sum = 0;
  double n = 0;
  do {
    sum += parts_of(experts, ranking, scores, n_parts, 1);
    ++n;
  } while (std::ranges::next_permutation(ranking).found);
  return sum / n;
}

Experts experts_of(int n_routed, int per_token, int n_groups, int groups_per_token) {
  return {.n_routed = n_routed,
          .per_token = per_token,
          .n_groups = n_groups,
          .groups_per_token = groups_per_token};
}

}  // namespace

TEST_CASE("Parts with a token's experts are those counted over all orders of the experts' scores") {
  for (const int n_groups : {1, 2, 3, 6}) {
    for (int groups_per_token = 1; groups_per_token <= n_groups; ++groups_per_token) {
      for (int per_token = 1; per_token <= groups_per_token * 6 / n_groups; ++per_token) {
        const Experts experts = experts_of(6, per_token, n_groups, groups_per_token);
        // Parts of several groups, of a part of one, and that cut groups.
        for (const int n_parts : {1, 2, 3, 6}) {
          CAPTURE(n_groups, groups_per_token, per_token, n_parts);
          REQUIRE(parts_with_experts(experts, n_parts) == Approx(counted(experts, n_parts)).epsilon(1e-12));
        }
      }
    }
  }
  for (const Experts& experts : {experts_of(8, 3, 4, 2), experts_of(8, 2, 2, 1)}) {
    for (const int n_parts : {2, 4, 8})
      CHECK(parts_with_experts(experts, n_parts) == Approx(counted(experts, n_parts)).epsilon(1e-12));
  }
}

TEST_CASE("A limit of all groups is none, and no token has more parts than it may have groups") {
  for (const int n_parts : {2, 4, 8, 32}) {
    CHECK(parts_with_experts(experts_of(64, 6, 8, 8), n_parts) ==
          Approx(parts_with_experts(experts_of(64, 6, 1, 1), n_parts)));
    double last = 0;
    for (const int groups_per_token : {1, 2, 4, 8}) {
      const double parts = parts_with_experts(experts_of(64, 6, 8, groups_per_token), n_parts);
      CHECK(parts >= last);
      if (n_parts <= 8) CHECK(parts <= groups_per_token);
      last = parts;
    }
  }
  // Without groups: 4 parts less the chance that 6 of 64 miss a part of 16, each.
  double none = 1;
  for (int chosen = 0; chosen < 6; ++chosen) none *= (48.0 - chosen) / (64 - chosen);
  CHECK(parts_with_experts(experts_of(64, 6, 1, 1), 4) == Approx(4 * (1 - none)));
}

TEST_CASE("DeepSeek-V2's and V3's routers: the parts of simulated draws, by the best score and by two") {
  std::mt19937 generator(7);
  const Experts v2 = experts_of(160, 6, 8, 3);
  const Experts v3 = experts_of(256, 8, 8, 4);
  // On 8 nodes tokens of V2 go to 3.0 instead of 4.5 nodes, of V3 to 4.0 instead of 5.3.
  CHECK(parts_with_experts(v2, 8) == Approx(2.995).epsilon(1e-3));
  CHECK(parts_with_experts(experts_of(160, 6, 1, 1), 8) == Approx(4.459).epsilon(1e-3));
  CHECK(parts_with_experts(v3, 8) == Approx(3.983).epsilon(1e-3));
  CHECK(parts_with_experts(experts_of(256, 8, 1, 1), 8) == Approx(5.295).epsilon(1e-3));
  for (const Experts& experts : {v2, v3}) {
    for (const int n_parts : {2, 4, 8, 16}) {
      for (const int sums_best : {1, 2}) {
        CAPTURE(experts.n_routed, n_parts, sums_best);
        double sum = 0;
        constexpr int kDraws = 6000;
        for (int draw = 0; draw < kDraws; ++draw) {
          Ranking ranking(static_cast<std::size_t>(experts.n_routed));
          std::iota(ranking.begin(), ranking.end(), 0);
          std::vector<double> scores;
          for (int i = 0; i < experts.n_routed; ++i) scores.push_back(static_cast<double>(generator()));
          std::ranges::sort(scores, std::ranges::greater());
          for (std::size_t i = ranking.size(); i-- > 1;)
            std::swap(ranking[i], ranking[generator() % (i + 1)]);
          sum += parts_of(experts, ranking, scores, n_parts, sums_best);
        }
        // The mean of so many draws is off by up to 0.8 %; two best scores by another 1.5 %.
        CHECK(sum / kDraws ==
              Approx(parts_with_experts(experts, n_parts)).epsilon(sums_best == 1 ? 0.008 : 0.023));
      }
    }
  }
}
