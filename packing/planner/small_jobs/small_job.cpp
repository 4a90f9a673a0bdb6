#include "packing/planner/small_jobs/small_job.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "packing/algorithms/never.hpp"
#include "packing/planner/small_jobs/random_changes.hpp"

namespace packsim {
namespace {

struct Bin {
  std::int64_t tokens = 0;
  std::vector<ItemIndex> items;
};

// Builds the iterations from which random changes start.
class FirstIterations {
 public:
  FirstIterations(const BatchSetting& setting, const DegreeCosts& costs,
                  std::span<const std::int32_t> lengths_tokens, std::span<const ItemIndex> order,
                  std::int64_t most_tokens)
      : setting_(setting),
        costs_(costs),
        lengths_(lengths_tokens),
        sorted_(order.begin(), order.end()),
        most_tokens_(most_tokens) {
    std::ranges::stable_sort(sorted_, {}, [&](ItemIndex item) { return -std::int64_t{lengths_[item]}; });
    for (const ItemIndex item : sorted_) n_tokens_ += lengths_[item];
  }

  // The numbers of rounds to try: 1 to 16, and as many as an iteration has room for of the longest item.
  std::vector<int> rounds(std::size_t degree) const {
    constexpr int kMost = 16;
    std::vector<int> rounds(kMost);
    std::iota(rounds.begin(), rounds.end(), 1);
    const std::int64_t longest = std::max(1, lengths_[sorted_.front()]);
    const std::int64_t most = most_tokens_ / (longest * (setting_.n_gpus / costs_.gpus_per_pack(degree)));
    if (most > kMost) rounds.push_back(static_cast<int>(std::min(most, std::ssize(sorted_))));
    return rounds;
  }

  // Ways to divide the items among iterations: as full as they can be, of about the same lengths each, and
  // all with about equally many tokens.
  std::vector<std::vector<Bin>> iterations(std::int64_t fewest) const {
    std::vector<std::vector<Bin>> choices = {best_fit(sorted_, most_tokens_), next_fit()};
    for (const std::size_t n : {choices.front().size(), static_cast<std::size_t>(fewest)}) {
      std::vector<Bin> even = level(sorted_, n, most_tokens_);
      if (!even.empty()) choices.push_back(std::move(even));
    }
    return choices;
  }

  // One iteration of packs of one degree with about equally many tokens, `n_rounds` packs for each block of
  // GPUs. No packs if they cannot hold the items.
  ComposedIteration of_items(const Bin& items, std::size_t degree, int n_rounds) const {
    const auto n_packs = static_cast<std::size_t>(n_rounds) *
                         static_cast<std::size_t>(setting_.n_gpus / costs_.gpus_per_pack(degree));
    ComposedIteration iteration;
    for (Bin& bin : level(items.items, n_packs, costs_.most_tokens(degree)))
      iteration.packs.push_back(pack_of(degree, std::move(bin)));
    return iteration;
  }

  // Iterations of packs of one degree, at most `n_rounds` packs for each block of GPUs in one. Packs are as
  // full as they can be, or (is_even) equally full. No iterations if the packs cannot hold all items.
  std::vector<ComposedIteration> of_degree(std::size_t degree, int n_rounds, bool is_even) const {
    const int gpus = costs_.gpus_per_pack(degree);
    const std::int64_t n_packs = std::int64_t{n_rounds} * (setting_.n_gpus / gpus);
    const std::int64_t longest = sorted_.empty() ? 0 : lengths_[sorted_.front()];
    const std::int64_t capacity =
        std::min(costs_.most_tokens(degree), std::max(longest, most_tokens_ / n_packs));
    if (capacity < longest || capacity == 0) return {};
    std::vector<Bin> bins = best_fit(sorted_, capacity);
    if (is_even) bins = level(sorted_, n_even_packs(bins.size(), n_packs), capacity);
    if (bins.empty()) return {};
    std::ranges::stable_sort(bins, {}, [](const Bin& bin) { return -bin.tokens; });
    return in_iterations(degree, bins, static_cast<std::size_t>(n_packs));
  }

 private:
  // Each item goes into the fullest bin that has room, else into a new one.
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

  // Items in order of length; each goes into the last bin, or into a new one if that has no room.
  std::vector<Bin> next_fit() const {
    std::vector<Bin> bins;
    for (const ItemIndex item : sorted_) {
      if (bins.empty() || bins.back().tokens + lengths_[item] > most_tokens_) bins.emplace_back();
      bins.back().tokens += lengths_[item];
      bins.back().items.push_back(item);
    }
    return bins;
  }

  // Each item goes into the emptiest of `n_bins` bins. No bins if one gets longer than `capacity`.
  std::vector<Bin> level(std::span<const ItemIndex> items, std::size_t n_bins, std::int64_t capacity) const {
    std::vector<Bin> bins(std::min(items.size(), n_bins));
    for (const ItemIndex item : items) {
      Bin& bin = *std::ranges::min_element(bins, {}, &Bin::tokens);
      if (bin.tokens + lengths_[item] > capacity) return {};
      bin.tokens += lengths_[item];
      bin.items.push_back(item);
    }
    return bins;
  }

  // The number of packs that fills all blocks in every round.
  std::size_t n_even_packs(std::size_t n_needed, std::int64_t n_in_iteration) const {
    const auto n = static_cast<std::size_t>(n_in_iteration);
    const auto fewest = static_cast<std::size_t>((n_tokens_ + most_tokens_ - 1) / most_tokens_);
    return n * std::max({std::size_t{1}, (n_needed + n - 1) / n, fewest});
  }

  static ComposedPack pack_of(std::size_t degree, Bin bin) {
    return {.degree = degree, .first_gpu = 0, .round = 0, .time_s = 0, .items = std::move(bin.items)};
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
      iterations.back().packs.push_back(pack_of(degree, bin));
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

// The best iterations so far. Iterations that are not too many come first, then those that take least time.
struct Best {
  std::vector<ComposedIteration> iterations;
  bool are_too_many = true;
  double total_s = kNever;

  bool is_better_than(const Best& other) const {
    return std::pair(are_too_many, total_s) < std::pair(other.are_too_many, other.total_s);
  }

  void consider(std::vector<ComposedIteration> other, RandomChanges& changes, const IterationLimits& limits) {
    if (std::ssize(other) < limits.fewest) return;
    const double other_s = changes.start(other);
    const bool are_more = std::ssize(other) > limits.most;
    Best of_other{std::move(other), are_more, other_s};
    if (of_other.is_better_than(*this)) *this = std::move(of_other);
  }
};

// Each iteration at its best degree and number of rounds. No iterations if no degree holds the items of one.
std::vector<ComposedIteration> best_forms(const FirstIterations& first, const DegreeCosts& costs,
                                          std::span<const Bin> iterations, RandomChanges& changes) {
  std::vector<ComposedIteration> formed;
  for (const Bin& items : iterations) {
    Best best;
    for (std::size_t d = 0; d < costs.n_degrees(); ++d) {
      for (const int n_rounds : first.rounds(d)) {
        ComposedIteration one = first.of_items(items, d, n_rounds);
        if (!one.packs.empty()) best.consider({std::move(one)}, changes, {});
      }
    }
    if (best.iterations.empty()) return {};
    formed.push_back(std::move(best.iterations.front()));
  }
  return formed;
}

// The best iterations whose packs all have one degree, and the best whose iterations each have their own.
std::array<Best, 2> best_starts(const FirstIterations& first, const DegreeCosts& costs,
                                const IterationLimits& limits, RandomChanges& changes) {
  std::array<Best, 2> best;
  for (std::size_t d = 0; d < costs.n_degrees(); ++d) {
    for (const int n_rounds : first.rounds(d)) {
      for (const bool is_even : {false, true})
        best[0].consider(first.of_degree(d, n_rounds, is_even), changes, limits);
    }
  }
  for (const std::vector<Bin>& iterations : first.iterations(limits.fewest))
    best[1].consider(best_forms(first, costs, iterations, changes), changes, limits);
  return best;
}

}  // namespace

IterationLimits iteration_limits(std::int64_t n_tokens, const IterationSize& size) {
  constexpr std::int64_t kFew = 10;
  const std::int64_t most = size.most_tokens();
  const std::int64_t asked = (n_tokens + size.asked_tokens - 1) / size.asked_tokens;
  return {.most_tokens = most,
          .fewest = asked <= kFew ? (n_tokens + most - 1) / most : asked,
          .most = n_tokens / size.asked_tokens + 1};
}

std::vector<ComposedIteration> plan_small_job(const BatchProblem& problem, const DegreeCosts& costs,
                                              std::span<const ItemIndex> order,
                                              std::span<const ComposedIteration> given,
                                              const IterationLimits& limits) {
  if (order.empty()) return {};
  const BatchSetting& setting = problem.setting;
  const std::span<const std::int32_t> lengths = problem.items.lengths_tokens;
  RandomChanges changes(setting, costs, lengths, limits);
  // The best of each kind of start. Which one the changes improve most is not known before they are made.
  std::array<Best, 3> starts;
  starts[0].consider({given.begin(), given.end()}, changes, {});
  for (const std::int64_t most_tokens : {setting.tokens_per_iteration, limits.most_tokens}) {
    std::array<Best, 2> more =
        best_starts({setting, costs, lengths, order, most_tokens}, costs, limits, changes);
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (more[i].is_better_than(starts[i + 1])) starts[i + 1] = std::move(more[i]);
    }
  }
  constexpr std::int64_t kPlaced = 400'000;
  Best best;
  for (const Best& start : starts) {
    if (start.iterations.empty()) continue;
    changes.start(start.iterations);
    best.consider(changes.iterations(), changes, {.most = limits.most});
    changes.improve(kPlaced);
    best.consider(changes.iterations(), changes, {.most = limits.most});
  }
  return best.iterations;
}

}  // namespace packsim
