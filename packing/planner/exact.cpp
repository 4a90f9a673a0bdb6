#include "packing/planner/exact.hpp"

#include <algorithm>
#include <stdexcept>

#include "packing/algorithms/never.hpp"

namespace packsim {
namespace {

using Subset = std::uint32_t;

// One pack after another on one block.
struct Packs {
  double time_s = kNever;
  Subset first = 0;  // of the packs; the rest is the best of what is left
};

// A block and all blocks inside it.
struct Tree {
  double time_s = kNever;
  Subset own = 0;  // on all GPUs of the block; the rest is in its parts
};

class Exact {
 public:
  Exact(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
        std::span<const ItemIndex> items, int n_gpus)
      : costs_(costs),
        lengths_(lengths_tokens),
        items_(items),
        n_gpus_(n_gpus),
        all_((Subset{1} << items.size()) - 1) {
    for (std::size_t d = 0; d < costs.n_degrees(); ++d) make_packs(d);
    make_trees();
  }

  Subset all() const { return all_; }
  std::int64_t tokens(Subset subset) const {
    std::int64_t sum = 0;
    for_each(subset, [&](ItemIndex item) { sum += lengths_[item]; });
    return sum;
  }
  double time_s(Subset subset) const { return trees_.back()[subset].time_s; }

  ComposedIteration iteration(Subset subset) const {
    ComposedIteration iteration;
    iteration.time_s = time_s(subset);
    std::vector<int> rounds(static_cast<std::size_t>(n_gpus_));
    place(trees_.size() - 1, subset, 0, rounds, iteration);
    std::ranges::stable_sort(iteration.packs, {}, &ComposedPack::round);
    return iteration;
  }

 private:
  // Blocks of every degree, and all GPUs: where these are no degree, nothing is trained on all of them
  // together.
  struct Level {
    int n_gpus = 1;
    std::size_t degree = 0;  // of the costs; their number: none
  };

  template <typename Visit>
  void for_each(Subset subset, Visit visit) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if ((subset >> i & 1U) != 0) visit(items_[i]);
    }
  }

  void make_packs(std::size_t degree) {
    std::vector<double> pack_s(all_ + 1, kNever);
    std::vector<std::int32_t> lengths;
    for (Subset subset = 1; subset <= all_; ++subset) {
      lengths.clear();
      std::int64_t sum = 0;
      for_each(subset, [&](ItemIndex item) {
        lengths.push_back(lengths_[item]);
        sum += lengths_[item];
      });
      if (sum <= costs_.most_tokens(degree)) pack_s[subset] = costs_.pack_s(degree, lengths);
    }
    std::vector<Packs>& packs = packs_.emplace_back(all_ + 1);
    packs[0].time_s = 0;
    for (Subset subset = 1; subset <= all_; ++subset) {
      for (Subset first = subset; first != 0; first = (first - 1) & subset) {
        const double time_s = pack_s[first] + packs[subset & ~first].time_s;
        if (time_s < packs[subset].time_s) packs[subset] = {time_s, first};
      }
    }
  }

  void make_trees() {
    for (std::size_t d = 0; d < costs_.n_degrees(); ++d) levels_.push_back({costs_.gpus_per_pack(d), d});
    if (levels_.back().n_gpus < n_gpus_) levels_.push_back({n_gpus_, costs_.n_degrees()});
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      // Parts of the block: the blocks of the level below, one after the other.
      const int n_parts = l == 0 ? 0 : levels_[l].n_gpus / levels_[l - 1].n_gpus;
      std::vector<std::vector<double>> parts_s = {std::vector<double>(all_ + 1, kNever)};
      parts_s.front()[0] = 0;
      for (int part = 0; part < n_parts; ++part) {
        const std::vector<double>& before = parts_s.back();
        std::vector<double> with(all_ + 1, kNever);
        for (Subset subset = 0; subset <= all_; ++subset) {
          for (Subset own = subset;; own = (own - 1) & subset) {
            with[subset] = std::min(with[subset], std::max(trees_[l - 1][own].time_s, before[subset & ~own]));
            if (own == 0) break;
          }
        }
        parts_s.push_back(std::move(with));
      }
      std::vector<Tree> trees(all_ + 1);
      for (Subset subset = 0; subset <= all_; ++subset) {
        for (Subset own = subset;; own = (own - 1) & subset) {
          const double own_s = own_time_s(l, own);
          const double time_s = own_s + parts_s.back()[subset & ~own];
          if (time_s < trees[subset].time_s || (own == 0 && subset == 0)) trees[subset] = {time_s, own};
          if (own == 0) break;
        }
      }
      trees_.push_back(std::move(trees));
      parts_s_.push_back(std::move(parts_s));
    }
  }

  double own_time_s(std::size_t level, Subset own) const {
    if (own == 0) return 0;
    const std::size_t degree = levels_[level].degree;
    return degree < costs_.n_degrees() ? packs_[degree][own].time_s : kNever;
  }

  void place(std::size_t level, Subset subset, int first_gpu, std::vector<int>& rounds,
             ComposedIteration& iteration) const {
    const Subset own = trees_[level][subset].own;
    place_packs(level, own, first_gpu, rounds, iteration);
    if (level == 0) return;
    Subset left = subset & ~own;
    const int part_gpus = levels_[level - 1].n_gpus;
    for (int part = levels_[level].n_gpus / part_gpus; part-- > 0;) {
      const Subset here = part_of(level, part, left);
      place(level - 1, here, first_gpu + part * part_gpus, rounds, iteration);
      left &= ~here;
    }
  }

  // What the best cut of `left` over parts 0..part gives to the last of them.
  Subset part_of(std::size_t level, int part, Subset left) const {
    const auto& parts_s = parts_s_[level];
    const auto p = static_cast<std::size_t>(part);
    for (Subset own = left;; own = (own - 1) & left) {
      if (std::max(trees_[level - 1][own].time_s, parts_s[p][left & ~own]) == parts_s[p + 1][left])
        return own;
      if (own == 0) return 0;
    }
  }

  void place_packs(std::size_t level, Subset own, int first_gpu, std::vector<int>& rounds,
                   ComposedIteration& iteration) const {
    const std::size_t degree = levels_[level].degree;
    while (own != 0) {
      const Subset first = packs_[degree][own].first;
      ComposedPack pack{.degree = degree, .first_gpu = first_gpu, .round = 0, .time_s = 0, .items = {}};
      pack.time_s = packs_[degree][own].time_s - packs_[degree][own & ~first].time_s;
      for_each(first, [&](ItemIndex item) { pack.items.push_back(item); });
      const auto begin = rounds.begin() + first_gpu;
      pack.round = *begin;
      for (auto at = begin; at != begin + levels_[level].n_gpus; ++at) ++*at;
      iteration.gpu_s += levels_[level].n_gpus * pack.time_s;
      iteration.packs.push_back(std::move(pack));
      own &= ~first;
    }
  }

  const DegreeCosts& costs_;
  std::span<const std::int32_t> lengths_;
  std::span<const ItemIndex> items_;
  int n_gpus_;
  Subset all_;
  std::vector<Level> levels_;                              // ascending
  std::vector<std::vector<Packs>> packs_;                  // [n_degrees][subset]
  std::vector<std::vector<Tree>> trees_;                   // [n_levels][subset]
  std::vector<std::vector<std::vector<double>>> parts_s_;  // [n_levels][parts so far][subset]
};

}  // namespace

std::vector<ComposedIteration> best_iterations(const DegreeCosts& costs,
                                               std::span<const std::int32_t> lengths_tokens,
                                               std::span<const ItemIndex> items, int n_gpus,
                                               std::int64_t tokens_per_iteration, double step_s) {
  if (items.size() > kMostExactItems) throw std::invalid_argument("items: too many to plan them exactly");
  const Exact exact(costs, lengths_tokens, items, n_gpus);
  const Subset all = exact.all();
  std::vector<double> epoch_s(all + 1, kNever);
  std::vector<Subset> last(all + 1, 0);
  epoch_s[0] = 0;
  for (Subset subset = 1; subset <= all; ++subset) {
    for (Subset own = subset; own != 0; own = (own - 1) & subset) {
      const bool is_one = (own & (own - 1)) == 0;
      if (!is_one && exact.tokens(own) > tokens_per_iteration) continue;
      const double time_s = epoch_s[subset & ~own] + exact.time_s(own) + step_s;
      if (time_s >= epoch_s[subset]) continue;
      epoch_s[subset] = time_s;
      last[subset] = own;
    }
  }
  std::vector<ComposedIteration> iterations;
  for (Subset left = all; left != 0; left &= ~last[left]) iterations.push_back(exact.iteration(last[left]));
  return iterations;
}

}  // namespace packsim
