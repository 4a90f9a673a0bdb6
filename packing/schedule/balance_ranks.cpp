#include "packing/schedule/balance_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <string>
#include <utility>

#include "packing/pack.hpp"
#include "packing/refusals/offenders.hpp"
#include "packing/refusals/refuse.hpp"

namespace packsim {
namespace {

// Factor on the larger of the mean and the costliest sample, which no division can be below.
constexpr double kGoodEnough = 1.01;
constexpr double kSwapsStopAt = 1.0005;
constexpr std::int64_t kMoreMicroBatchesTried = 2;

using Samples = std::vector<ItemIndex>;

struct BudgetedBatch {
  std::int64_t room_tokens = 0;
  double cost = 0;
  Samples samples;
};

struct RankLoad {
  double cost = 0;
  std::vector<BudgetedBatch> micro_batches;
};

double largest_cost(const std::vector<RankLoad>& ranks) {
  return std::ranges::max(ranks, {}, &RankLoad::cost).cost;
}

void check_balance(const BalanceRequest& request) {
  const auto n_samples = static_cast<std::int64_t>(request.lengths_tokens.size());
  if (request.n_ranks < 1) refuse("n_ranks: expected >= 1, got " + std::to_string(request.n_ranks));
  if (request.token_budget < 1 || request.token_budget > kLongestCapacityTokens) {
    refuse("token_budget: expected 1.." + std::to_string(kLongestCapacityTokens) + ", got " +
           std::to_string(request.token_budget));
  }
  if (request.linear_weight_tokens < 0 || request.linear_weight_tokens > kLongestCapacityTokens) {
    refuse("linear_weight_tokens: expected 0.." + std::to_string(kLongestCapacityTokens) + ", got " +
           std::to_string(request.linear_weight_tokens));
  }
  if (!request.costs.empty() && request.costs.size() != request.lengths_tokens.size()) {
    refuse("costs: expected one for each of " + std::to_string(n_samples) + " samples, got " +
           std::to_string(request.costs.size()));
  }
  Offenders lengths;
  for (std::size_t i = 0; i < request.lengths_tokens.size(); ++i) {
    const std::int32_t length = request.lengths_tokens[i];
    if (length < 1 || length > request.token_budget) lengths.add(i, length);
  }
  lengths.refuse_if_any("lengths of 1.." + std::to_string(request.token_budget) + " (the token budget)");
  for (std::size_t i = 0; i < request.costs.size(); ++i) {
    if (!std::isfinite(request.costs[i]) || request.costs[i] < 0) {
      refuse("costs[" + std::to_string(i) + "]: expected a finite number >= 0, got " +
             std::to_string(request.costs[i]));
    }
  }
  if (n_samples < request.n_ranks) {
    refuse("n_ranks: expected at most one for each of " + std::to_string(n_samples) +
           " samples, so that no rank is without a micro-batch, got " + std::to_string(request.n_ranks));
  }
}

std::vector<double> costs_of(const BalanceRequest& request) {
  if (!request.costs.empty()) return {request.costs.begin(), request.costs.end()};
  std::vector<double> costs(request.lengths_tokens.size());
  std::ranges::transform(request.lengths_tokens, costs.begin(), [&](std::int64_t length) {
    return static_cast<double>(length * (request.linear_weight_tokens + length));
  });
  return costs;
}

class RankBalancer {
 public:
  explicit RankBalancer(const BalanceRequest& request)
      : request_(request),
        n_ranks_(static_cast<std::size_t>(request.n_ranks)),
        costs_(costs_of(request)),
        total_cost_(std::accumulate(costs_.begin(), costs_.end(), 0.0)),
        order_(largest_share_first()) {
    const double mean = total_cost_ / static_cast<double>(n_ranks_);
    least_largest_ = std::max(mean, *std::ranges::max_element(costs_));
  }

  std::vector<RankLoad> balance() {
    // Few enough for every rank to have as many, and enough for the tokens: best fit has found such packs.
    const Packing tight = pack(
        "bfd", {.lengths_tokens = request_.lengths_tokens, .capacities_tokens = {request_.token_budget}});
    const std::size_t fewest = (tight.n_packs() + n_ranks_ - 1) / n_ranks_;
    const std::size_t most = costs_.size() / n_ranks_;
    if (fewest > most) refuse_counts(tight.n_packs(), most);
    std::optional<std::vector<RankLoad>> best;
    for (std::size_t n = fewest; n <= std::min(most, fewest + kMoreMicroBatchesTried); ++n) {
      keep_better(best, deal_samples(n));
      if (!good(best) && n == fewest) keep_better(best, deal_packs(tight.groups[0], n));
      if (good(best)) break;
    }
    return *std::move(best);
  }

 private:
  std::int64_t length(ItemIndex sample) const { return request_.lengths_tokens[sample]; }

  [[noreturn]] void refuse_counts(std::size_t n_packs, std::size_t most) const {
    refuse("n_ranks: expected samples for as many micro-batches on every rank, but " +
           std::to_string(costs_.size()) + " samples of " + std::to_string(n_packs) +
           " micro-batches give each of " + std::to_string(n_ranks_) + " ranks at most " +
           std::to_string(most) + " that " + (most == 1 ? "is" : "are") + " not empty");
  }

  std::vector<ItemIndex> largest_share_first() const {
    const double rank_cost = total_cost_ / static_cast<double>(n_ranks_);
    std::vector<std::pair<double, ItemIndex>> shares(costs_.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const auto sample = static_cast<ItemIndex>(i);
      const double of_budget =
          static_cast<double>(length(sample)) / static_cast<double>(request_.token_budget);
      shares[i] = {-std::max(of_budget, rank_cost > 0 ? costs_[i] / rank_cost : 0.0), sample};
    }
    std::ranges::sort(shares);
    std::vector<ItemIndex> order(shares.size());
    std::ranges::transform(shares, order.begin(), &std::pair<double, ItemIndex>::second);
    return order;
  }

  void place(RankLoad& rank, BudgetedBatch& into, ItemIndex sample) const {
    into.samples.push_back(sample);
    into.room_tokens -= length(sample);
    into.cost += costs_[sample];
    rank.cost += costs_[sample];
  }

  // Each sample to the rank of the least cost; none if some sample finds no room.
  std::optional<std::vector<RankLoad>> deal_samples(std::size_t n_micro_batches) const {
    std::vector<RankLoad> ranks(n_ranks_);
    std::vector<std::priority_queue<std::pair<std::int64_t, std::int64_t>>> rooms(
        n_ranks_);  // (room, -which)
    using Cheapest = std::pair<double, std::size_t>;
    std::priority_queue<Cheapest, std::vector<Cheapest>, std::greater<>> open;
    for (std::size_t r = 0; r < n_ranks_; ++r) {
      ranks[r].micro_batches.assign(n_micro_batches, {request_.token_budget, 0, {}});
      for (std::size_t m = 0; m < n_micro_batches; ++m)
        rooms[r].emplace(request_.token_budget, -static_cast<std::int64_t>(m));
      open.emplace(0.0, r);
    }
    std::size_t n_empty = n_ranks_ * n_micro_batches;
    std::vector<Cheapest> passed_over;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const ItemIndex sample = order_[i];
      // The last samples are for micro-batches that would be empty without them.
      const bool fills_empty = order_.size() - i == n_empty;
      const std::int64_t wanted = fills_empty ? request_.token_budget : length(sample);
      while (!open.empty() && rooms[open.top().second].top().first < wanted) {
        if (!fills_empty) passed_over.push_back(open.top());
        open.pop();
      }
      if (open.empty()) return std::nullopt;
      const std::size_t r = open.top().second;
      open.pop();
      const auto [room, which] = rooms[r].top();
      rooms[r].pop();
      if (room == request_.token_budget) --n_empty;
      place(ranks[r], ranks[r].micro_batches[static_cast<std::size_t>(-which)], sample);
      rooms[r].emplace(room - length(sample), which);
      open.emplace(ranks[r].cost, r);
      for (const Cheapest& rank : passed_over) open.push(rank);
      passed_over.clear();
    }
    return ranks;
  }

  // Packs that are there already, costliest first, each to the rank of the least cost that is not complete.
  std::vector<RankLoad> deal_packs(const PackSet& packs, std::size_t n_micro_batches) const {
    std::vector<BudgetedBatch> all = exactly(packs, n_ranks_ * n_micro_batches);
    std::ranges::stable_sort(all, std::greater{}, &BudgetedBatch::cost);
    std::vector<RankLoad> ranks(n_ranks_);
    using Cheapest = std::pair<double, std::size_t>;
    std::priority_queue<Cheapest, std::vector<Cheapest>, std::greater<>> open;
    for (std::size_t r = 0; r < n_ranks_; ++r) open.emplace(0.0, r);
    for (BudgetedBatch& micro_batch : all) {
      const std::size_t r = open.top().second;
      open.pop();
      ranks[r].cost += micro_batch.cost;
      ranks[r].micro_batches.push_back(std::move(micro_batch));
      if (ranks[r].micro_batches.size() < n_micro_batches) open.emplace(ranks[r].cost, r);
    }
    return ranks;
  }

  // Halves the packs of most samples until there are so many.
  std::vector<BudgetedBatch> exactly(const PackSet& packs, std::size_t n_wanted) const {
    std::vector<Samples> parts;
    std::priority_queue<std::pair<std::size_t, std::int64_t>> largest;  // (samples, -part)
    for (std::size_t p = 0; p < packs.n_packs(); ++p) {
      parts.emplace_back(packs[p].begin(), packs[p].end());
      largest.emplace(parts[p].size(), -static_cast<std::int64_t>(p));
    }
    while (parts.size() < n_wanted) {
      const auto part = static_cast<std::size_t>(-largest.top().second);
      largest.pop();
      const auto half = static_cast<std::ptrdiff_t>(parts[part].size() / 2);
      Samples rest(parts[part].begin() + half, parts[part].end());
      parts[part].resize(static_cast<std::size_t>(half));
      largest.emplace(parts[part].size(), -static_cast<std::int64_t>(part));
      largest.emplace(rest.size(), -static_cast<std::int64_t>(parts.size()));
      parts.push_back(std::move(rest));
    }
    std::vector<BudgetedBatch> result(parts.size());
    RankLoad ignored;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      result[p].room_tokens = request_.token_budget;
      for (const ItemIndex sample : parts[p]) place(ignored, result[p], sample);
    }
    return result;
  }

  // Micro-batches of the largest and the smallest rank change places while that lowers the largest rank.
  void swap_micro_batches(std::vector<RankLoad>& ranks) const {
    for (RankLoad& rank : ranks) std::ranges::stable_sort(rank.micro_batches, {}, &BudgetedBatch::cost);
    for (std::size_t tries = 0; tries < 16 * n_ranks_; ++tries) {
      RankLoad& high = *std::ranges::max_element(ranks, {}, &RankLoad::cost);
      RankLoad& low = *std::ranges::min_element(ranks, {}, &RankLoad::cost);
      if (high.cost <= kSwapsStopAt * least_largest_ || !swap_best(high, low)) return;
    }
  }

  // The pair whose costs differ by the nearest to half the gap between the ranks; both lists are ascending.
  static bool swap_best(RankLoad& high, RankLoad& low) {
    const double gap = high.cost - low.cost;
    double best = gap / 2 * 0.999;
    std::pair<std::size_t, std::size_t> pair;
    bool found = false;
    std::size_t l = 0;
    for (std::size_t h = 0; h < high.micro_batches.size(); ++h) {
      const auto off = [&](std::size_t at) {
        return std::abs(high.micro_batches[h].cost - low.micro_batches[at].cost - gap / 2);
      };
      while (l + 1 < low.micro_batches.size() && off(l + 1) <= off(l)) ++l;
      if (off(l) < best) {
        best = off(l);
        pair = {h, l};
        found = true;
      }
    }
    if (!found) return false;
    BudgetedBatch& a = high.micro_batches[pair.first];
    BudgetedBatch& b = low.micro_batches[pair.second];
    const double moved = a.cost - b.cost;
    std::swap(a, b);
    high.cost -= moved;
    low.cost += moved;
    std::ranges::stable_sort(high.micro_batches, {}, &BudgetedBatch::cost);
    std::ranges::stable_sort(low.micro_batches, {}, &BudgetedBatch::cost);
    return true;
  }

  void keep_better(std::optional<std::vector<RankLoad>>& best,
                   std::optional<std::vector<RankLoad>> other) const {
    if (!other) return;
    swap_micro_batches(*other);
    if (!best || largest_cost(*other) < largest_cost(*best)) best = std::move(other);
  }

  bool good(const std::optional<std::vector<RankLoad>>& ranks) const {
    return ranks && largest_cost(*ranks) <= kGoodEnough * least_largest_;
  }

  const BalanceRequest& request_;
  std::size_t n_ranks_;
  std::vector<double> costs_;
  double total_cost_;
  std::vector<ItemIndex> order_;
  double least_largest_ = 0;
};

// The balance in the form that callers get, with its promises checked.
RankBalance result_of(const BalanceRequest& request, std::vector<RankLoad> ranks) {
  RankBalance result;
  result.micro_batches_per_rank = static_cast<std::int64_t>(ranks[0].micro_batches.size());
  std::vector<bool> placed(request.lengths_tokens.size(), false);
  const auto broken = [](const std::string& what) { throw std::logic_error("balance_ranks: " + what); };
  for (RankLoad& rank : ranks) {
    if (rank.micro_batches.size() != ranks[0].micro_batches.size()) broken("a rank has another number");
    std::ranges::stable_sort(rank.micro_batches, std::greater{}, &BudgetedBatch::cost);
    result.rank_costs.push_back(0);
    for (const BudgetedBatch& micro_batch : rank.micro_batches) {
      std::int64_t tokens = 0;
      for (const ItemIndex sample : micro_batch.samples) {
        if (placed[sample]) broken("sample " + std::to_string(sample) + " is in two micro-batches");
        placed[sample] = true;
        tokens += request.lengths_tokens[sample];
      }
      if (micro_batch.samples.empty() || tokens > request.token_budget)
        broken("a micro-batch has " + std::to_string(tokens) + " tokens");
      result.rank_costs.back() += micro_batch.cost;
      auto& items = result.micro_batches.items;
      items.insert(items.end(), micro_batch.samples.begin(), micro_batch.samples.end());
      result.micro_batches.close_pack();
    }
  }
  if (result.micro_batches.items.size() != placed.size()) broken("a sample is in no micro-batch");
  return result;
}

}  // namespace

RankBalance balance_ranks(const BalanceRequest& request) {
  check_balance(request);
  return result_of(request, RankBalancer(request).balance());
}

}  // namespace packsim
