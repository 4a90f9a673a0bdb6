#include "packing/algorithms/two_limits/fill.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "packing/algorithms/two_limits/supply.hpp"

namespace packsim {
namespace {

// What a departure from the samples that are left costs, in shares of a pack. Three values, as no one of them
// is the best on all data: they were chosen on eleven mixes (docs/strategies.md) among 0 to 1.
constexpr std::array<double, 3> kDepartureCosts = {0.25, 0, 1};
// A pattern of samples is repeated for at most this part of the samples that are left; then limits are
// weighed again.
constexpr std::int64_t kLeastParts = 64;

struct Copies {
  std::uint32_t run = 0;
  std::uint32_t count = 0;
};

class TwoLimitFill {
 public:
  TwoLimitFill(const PackProblem& problem, TwoLimitSupply supply, std::uint32_t most_items,
               double departure_cost)
      : capacity_tokens_(problem.capacity_tokens),
        extra_capacity_(problem.extra_capacity),
        most_items_(most_items),
        departure_cost_(departure_cost),
        supply_(std::move(supply)) {}

  PackSet run() {
    PackSet packs;
    packs.items.reserve(static_cast<std::size_t>(supply_.n_left()) + supply_.over_long().size());
    for (const ItemIndex item : supply_.over_long()) {
      packs.items.push_back(item);
      packs.close_pack();
    }
    while (!supply_.empty()) {
      const std::size_t first = packs.items.size();
      fill(packs.items);
      const auto n_items = static_cast<std::int64_t>(packs.items.size() - first);
      packs.close_pack();
      for (std::int64_t n = repeats(n_items); n > 0; --n) {
        for (const Copies& copies : pattern_) supply_.take(copies.run, copies.count, packs.items);
        packs.close_pack();
      }
    }
    return packs;
  }

 private:
  // One pack, which pattern_ then describes.
  void fill(std::vector<ItemIndex>& items) {
    pattern_.clear();
    std::int64_t tokens = capacity_tokens_;
    std::int64_t extra = extra_capacity_;
    for (std::uint32_t n = 0; n < most_items_; ++n) {
      const std::uint32_t run = best_run(tokens, extra);
      if (run == TwoLimitSupply::kNone) return;
      tokens -= supply_.run(run).length_tokens;
      extra -= supply_.run(run).extra;
      supply_.take(run, 1, items);
      if (pattern_.empty() || pattern_.back().run != run) pattern_.push_back({run, 0});
      ++pattern_.back().count;
    }
  }

  // The number of further packs of the pattern, with n_items each.
  std::int64_t repeats(std::int64_t n_items) {
    std::int64_t most = supply_.n_left() / (kLeastParts * n_items);
    if (most == 0) return 0;
    // The same run may be in the pattern more than once.
    std::ranges::sort(pattern_, {}, &Copies::run);
    for (std::size_t i = 0; i < pattern_.size();) {
      const std::uint32_t run = pattern_[i].run;
      std::int64_t needed = 0;
      for (; i < pattern_.size() && pattern_[i].run == run; ++i) needed += pattern_[i].count;
      most = std::min(most, supply_.run(run).n_left / needed);
    }
    return most;
  }

  // The run whose next item is to go into a pack with so much room for both.
  std::uint32_t best_run(std::int64_t tokens, std::int64_t extra) {
    weigh(tokens, extra);
    double best_score = 0;
    std::uint32_t best = TwoLimitSupply::kNone;
    const auto consider = [&](const TwoLimitSupply::Class& of, std::int64_t cell) {
      const std::uint32_t run = supply_.run_in(of, cell, extra);
      if (run == TwoLimitSupply::kNone) return;
      const double score = score_of(supply_.run(run));
      if (best != TwoLimitSupply::kNone && score <= best_score) return;
      best_score = score;
      best = run;
    };
    for (const TwoLimitSupply::Class& of : supply_.classes()) {
      if (of.least_extra > extra || of.top_cell == IntegerSet::kNone) continue;
      if (best != TwoLimitSupply::kNone && most_score_of(of, tokens, extra) <= best_score) continue;
      const std::int64_t longest = TwoLimitSupply::longest_cell(of, tokens);
      if (longest == IntegerSet::kNone) continue;
      consider(of, longest);
      // Scores rise with the length as far as a length that leaves what is to be left, and may fall beyond.
      if (!falls_) continue;
      const std::int64_t turn = turning_tokens(of.least_extra);
      if (of.lengths_tokens[static_cast<std::size_t>(longest)] <= turn) continue;
      const std::int64_t below = TwoLimitSupply::longest_cell(of, turn);
      if (below != IntegerSet::kNone) consider(of, below);
      consider(of, of.alive.smallest_at_least(below + 1));
    }
    return best;
  }

  void weigh(std::int64_t tokens, std::int64_t extra) {
    const double needed_tokens = static_cast<double>(supply_.tokens_left()) / capacity();
    const double needed_extra = static_cast<double>(supply_.extra_left()) / extra_capacity();
    const double squares = needed_tokens * needed_tokens + needed_extra * needed_extra;
    weight_tokens_ = squares > 0 ? needed_tokens * needed_tokens / squares : 0.5;
    weight_extra_ = 1 - weight_tokens_;
    room_tokens_ = static_cast<double>(tokens) / capacity();
    room_extra_ = static_cast<double>(extra) / extra_capacity();
    falls_ = weight_tokens_ * room_tokens_ < departure_cost_ * weight_extra_;
  }

  double score_of(const PairRun& run) const {
    const double tokens = run.length_tokens / capacity();
    const double extra = run.extra / extra_capacity();
    const double departure = weight_extra_ * (room_tokens_ - tokens) - weight_tokens_ * (room_extra_ - extra);
    return weight_tokens_ * room_tokens_ * tokens + weight_extra_ * room_extra_ * extra -
           departure_cost_ * std::abs(departure);
  }

  // No sample of the class that fits scores more.
  double most_score_of(const TwoLimitSupply::Class& of, std::int64_t tokens, std::int64_t extra) const {
    const std::int64_t longest = of.lengths_tokens[static_cast<std::size_t>(of.top_cell)];
    return weight_tokens_ * room_tokens_ * (static_cast<double>(std::min(tokens, longest)) / capacity()) +
           weight_extra_ * room_extra_ *
               (static_cast<double>(std::min<std::int64_t>(extra, of.most_extra)) / extra_capacity());
  }

  // The length that leaves as much of either limit as they weigh, beside an item of so much extra size.
  std::int64_t turning_tokens(std::int32_t extra) const {
    const double left = (room_extra_ - extra / extra_capacity()) * weight_tokens_ / weight_extra_;
    return static_cast<std::int64_t>(std::max(room_tokens_ - left, -1.0) * capacity());
  }

  double capacity() const { return static_cast<double>(capacity_tokens_); }
  double extra_capacity() const { return static_cast<double>(extra_capacity_); }

  std::int64_t capacity_tokens_;
  std::int64_t extra_capacity_;
  std::uint32_t most_items_;
  double departure_cost_;
  TwoLimitSupply supply_;
  std::vector<Copies> pattern_;
  // These belong to the choice at hand: what a whole pack of a limit counts, and the room for it, in packs.
  double weight_tokens_ = 0, weight_extra_ = 0;
  double room_tokens_ = 0, room_extra_ = 0;
  bool falls_ = false;  // whether scores may fall with the length
};

// Tells whether n_packs is within 0.5 % of what the sums of tokens and of extra sizes need, over-long items
// apart.
bool is_near_bound(std::size_t n_packs, const TwoLimitSupply& all, const PackProblem& problem) {
  const std::int64_t tokens = (all.tokens_left() + problem.capacity_tokens - 1) / problem.capacity_tokens;
  const std::int64_t extra = (all.extra_left() + problem.extra_capacity - 1) / problem.extra_capacity;
  const std::int64_t bound = std::max(tokens, extra) + std::ssize(all.over_long());
  return static_cast<std::int64_t>(n_packs) * 200 <= bound * 201;
}

}  // namespace

PackSet fill_two_limits(const PackProblem& problem, std::uint32_t most_items) {
  return TwoLimitFill(problem, TwoLimitSupply(problem), most_items, kDepartureCosts.front()).run();
}

PackSet fewest_packs_of_two_limits(const PackProblem& problem, std::uint32_t most_items) {
  const TwoLimitSupply all(problem);
  PackSet best;
  bool is_first = true;
  for (const double cost : kDepartureCosts) {
    PackSet packs = TwoLimitFill(problem, all, most_items, cost).run();
    if (is_first || packs.n_packs() < best.n_packs()) best = std::move(packs);
    is_first = false;
    if (is_near_bound(best.n_packs(), all, problem)) break;
  }
  return best;
}

}  // namespace packsim
