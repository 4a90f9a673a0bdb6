#include "packing/planner/small_jobs/small_job.hpp"

#include <algorithm>
#include <numeric>

#include "packing/planner/never.hpp"
#include "packing/planner/small_jobs/random_changes.hpp"

namespace packsim {
namespace {

struct Bin {
  std::int64_t tokens = 0;
  std::vector<ItemIndex> items;
};

class Starts {
 public:
  Starts(const BatchSetting& setting, const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
         std::span<const ItemIndex> order, std::int64_t most_tokens)
      : setting_(setting),
        costs_(costs),
        lengths_(lengths_tokens),
        sorted_(order.begin(), order.end()),
        most_tokens_(most_tokens) {
    std::ranges::stable_sort(sorted_, {}, [&](ItemIndex item) { return -std::int64_t{lengths_[item]}; });
    for (const ItemIndex item : sorted_) n_tokens_ += lengths_[item];
  }

  // Packs of one degree, so many in an iteration for each block of GPUs, that are filled as much as they can
  // be, or all equally. None if they cannot hold all items.
  std::vector<ComposedIteration> of_degree(std::size_t degree, int n_rounds, bool is_even) const {
    const int gpus = costs_.gpus_per_pack(degree);
    const std::int64_t n_packs = std::int64_t{n_rounds} * (setting_.n_gpus / gpus);
    const std::int64_t longest = sorted_.empty() ? 0 : lengths_[sorted_.front()];
    const std::int64_t capacity =
        std::min(costs_.most_tokens(degree), std::max(longest, most_tokens_ / n_packs));
    if (capacity < longest || capacity == 0) return {};
    std::vector<Bin> bins = best_fit(sorted_, capacity);
    if (is_even) bins = level(bins.size(), n_packs, capacity);
    if (bins.empty()) return {};
    std::ranges::stable_sort(bins, {}, [](const Bin& bin) { return -bin.tokens; });
    return in_iterations(degree, bins, static_cast<std::size_t>(n_packs));
  }

 private:
  // The fullest that has room, else a new one.
  std::vector<Bin> best_fit(std::span<const ItemIndex> items, std::int64_t capacity) const {
    std::vector<Bin> bins;
    for (const ItemIndex item : items) {
      Bin* best = nullptr;
      for (Bin& bin : bins) {
        if (bin.tokens + lengths_[item] > capacity) continue;
        if (best == nullptr || bin.tokens > best->tokens) best = &bin;
      }
      if (best == nullptr) best = &bins.emplace_back();
      best->tokens += lengths_[item];
      best->items.push_back(item);
    }
    return bins;
  }

  // As many packs as fill all blocks in every round, the emptiest of which gets the next item by the least
  // time.
  std::vector<Bin> level(std::size_t n_needed, std::int64_t n_packs, std::int64_t capacity) const {
    const auto n_in_iteration = static_cast<std::size_t>(n_packs);
    const std::size_t n_iterations =
        std::max<std::size_t>({1, (n_needed + n_in_iteration - 1) / n_in_iteration,
                               static_cast<std::size_t>((n_tokens_ + most_tokens_ - 1) / most_tokens_)});
    std::vector<Bin> bins(std::min(sorted_.size(), n_iterations * n_in_iteration));
    for (const ItemIndex item : sorted_) {
      Bin& bin = *std::ranges::min_element(bins, {}, &Bin::tokens);
      if (bin.tokens + lengths_[item] > capacity) return {};
      bin.tokens += lengths_[item];
      bin.items.push_back(item);
    }
    return bins;
  }

  std::vector<ComposedIteration> in_iterations(std::size_t degree, std::span<const Bin> bins,
                                               std::size_t n_in_iteration) const {
    std::vector<ComposedIteration> iterations;
    std::int64_t tokens = 0;
    for (const Bin& bin : bins) {
      const bool is_full = !iterations.empty() && (iterations.back().packs.size() == n_in_iteration ||
                                                   tokens + bin.tokens > most_tokens_);
      if (iterations.empty() || is_full) {
        iterations.emplace_back();
        tokens = 0;
      }
      tokens += bin.tokens;
      iterations.back().packs.push_back(
          {.degree = degree, .first_gpu = 0, .round = 0, .time_s = 0, .items = bin.items});
    }
    return iterations;
  }

  const BatchSetting& setting_;
  const DegreeCosts& costs_;
  std::span<const std::int32_t> lengths_;
  std::vector<ItemIndex> sorted_;  // longest first
  std::int64_t n_tokens_ = 0;
  std::int64_t most_tokens_;
};

}  // namespace

std::vector<ComposedIteration> plan_small_job(const BatchProblem& problem, const DegreeCosts& costs,
                                              std::span<const ItemIndex> order,
                                              std::span<const ComposedIteration> given,
                                              std::int64_t most_tokens) {
  if (order.empty()) return {};
  const BatchSetting& setting = problem.setting;
  const std::span<const std::int32_t> lengths = problem.items.lengths_tokens;
  RandomChanges changes(setting, costs, lengths, most_tokens);
  std::vector<ComposedIteration> best(given.begin(), given.end());
  double best_s = best.empty() ? kNever : changes.start(best);
  const Starts starts(setting, costs, lengths, order, most_tokens);
  constexpr int kMostRounds = 16;
  for (std::size_t d = 0; d < costs.n_degrees(); ++d) {
    for (int n_rounds = 1; n_rounds <= kMostRounds; ++n_rounds) {
      for (const bool is_even : {false, true}) {
        std::vector<ComposedIteration> start = starts.of_degree(d, n_rounds, is_even);
        if (start.empty()) continue;
        const double start_s = changes.start(start);
        if (start_s >= best_s) continue;
        best_s = start_s;
        best = std::move(start);
      }
    }
  }
  constexpr std::int64_t kPlaced = 1'000'000;
  changes.start(best);
  best = changes.iterations();
  changes.improve(kPlaced);
  return changes.total_s() < best_s ? changes.iterations() : best;
}

}  // namespace packsim
