#include "packing/planner/cut_iterations.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

namespace packsim {
namespace {

// What an item needs at its best.
struct Need {
  double gpu_s = 0;        // GPU time at the cheapest degree
  double time_s = 0;       // of its GPUs, at the fastest degree that costs little more
  std::size_t degree = 0;  // which that is
};

class Needs {
 public:
  explicit Needs(const DegreeCosts& costs) : costs_(costs) {}

  const Need& of(std::int32_t length) {
    const auto index = static_cast<std::size_t>(length);
    if (index >= by_length_.size()) by_length_.resize(index + 1, {.gpu_s = -1});
    if (by_length_[index].gpu_s < 0) by_length_[index] = make(length);
    return by_length_[index];
  }

 private:
  Need make(std::int32_t length) const {
    // More GPUs that cost so much more are worth it where an item would be waited for.
    constexpr double kLittleMore = 1.1;
    Need need{.gpu_s = std::numeric_limits<double>::infinity(),
              .time_s = std::numeric_limits<double>::infinity()};
    const auto gpu_s = [&](std::size_t d) { return costs_.sp_degree(d) * costs_.share_s(d, length); };
    for (std::size_t d = 0; d < costs_.n_degrees(); ++d) need.gpu_s = std::min(need.gpu_s, gpu_s(d));
    for (std::size_t d = 0; d < costs_.n_degrees(); ++d) {
      if (gpu_s(d) > kLittleMore * need.gpu_s || costs_.alone_s(d, length) >= need.time_s) continue;
      need.time_s = costs_.alone_s(d, length);
      need.degree = d;
    }
    return need;
  }

  const DegreeCosts& costs_;
  std::vector<Need> by_length_;
};

class Cutter {
 public:
  Cutter(const DegreeCosts& costs, std::span<const std::int32_t> lengths, const IterationCuts& cuts)
      : costs_(costs), lengths_(lengths), cuts_(cuts), needs_(costs) {}

  // Appends the iterations of a window. The last one may be short of tokens; so what is_last says no to is
  // left to the next window.
  void cut(std::span<const ItemIndex> window, std::vector<std::vector<ItemIndex>>& iterations) {
    find_long(window);
    std::vector<LongOnes> long_iterations = collect_long();
    std::ranges::stable_sort(long_iterations, {}, &LongOnes::position);
    std::size_t next_long = 0;
    std::size_t next = 0;  // of the short ones
    std::deque<ItemIndex> waiting;
    std::size_t position = 0;
    while (next < short_.size() || !waiting.empty() || next_long < long_iterations.size()) {
      std::vector<ItemIndex>& iteration = iterations.emplace_back();
      std::int64_t room = cuts_.tokens_per_iteration;
      const bool has_short = next < short_.size() || !waiting.empty();
      if (next_long < long_iterations.size() &&
          (long_iterations[next_long].position <= position || !has_short)) {
        iteration = std::move(long_iterations[next_long++].items);
        for (const ItemIndex item : iteration) room -= lengths_[item];
      }
      fill(iteration, room, next, waiting);
      if (next < short_.size()) position = short_[next].position;
    }
  }

 private:
  struct Placed {
    ItemIndex item = 0;
    std::size_t position = 0;  // in the window
  };
  struct LongOnes {
    std::size_t position = 0;  // of the first of them
    std::vector<ItemIndex> items;
  };

  void find_long(std::span<const ItemIndex> window) {
    double gpu_s = 0;
    std::int64_t tokens = 0;
    for (const ItemIndex item : window) {
      gpu_s += needs_.of(lengths_[item]).gpu_s;
      tokens += lengths_[item];
    }
    gpu_s_per_token_ = tokens > 0 ? gpu_s / static_cast<double>(tokens) : 0;
    // What an iteration takes if nobody waits; an item that takes most of that leaves little to level with.
    constexpr double kMost = 0.9;
    const double iteration_s =
        gpu_s_per_token_ * static_cast<double>(std::min(cuts_.tokens_per_iteration, tokens)) / cuts_.n_gpus;
    long_.clear();
    short_.clear();
    for (std::size_t i = 0; i < window.size(); ++i) {
      const bool is_long = needs_.of(lengths_[window[i]]).time_s > kMost * iteration_s;
      (is_long ? long_ : short_).push_back({window[i], i});
    }
    double short_s = 0;
    std::int64_t short_tokens = 0;
    for (const Placed& placed : short_) {
      short_s += needs_.of(lengths_[placed.item]).gpu_s;
      short_tokens += lengths_[placed.item];
    }
    if (short_tokens > 0) gpu_s_per_token_ = short_s / static_cast<double>(short_tokens);
    std::ranges::stable_sort(long_, [&](const Placed& a, const Placed& b) {
      return needs_.of(lengths_[a.item]).time_s > needs_.of(lengths_[b.item]).time_s;
    });
  }

  std::vector<LongOnes> collect_long() {
    std::vector<LongOnes> iterations;
    for (std::size_t first = 0; first < long_.size();) {
      const std::size_t n = best_number(first);
      LongOnes& iteration = iterations.emplace_back();
      iteration.position = long_[first].position;
      for (std::size_t i = first; i < first + n; ++i) {
        iteration.items.push_back(long_[i].item);
        iteration.position = std::min(iteration.position, long_[i].position);
      }
      first += n;
    }
    return iterations;
  }

  // How many of the next long ones leave the smallest share of their iteration's time empty, once short ones
  // have filled what they can; the largest such number.
  std::size_t best_number(std::size_t first) {
    std::vector<double> loads(static_cast<std::size_t>(cuts_.n_gpus));
    double time_s = 0;
    double gpu_s = 0;
    std::int64_t tokens = 0;
    std::size_t best = 1;
    double best_empty = std::numeric_limits<double>::infinity();
    for (std::size_t i = first; i < long_.size(); ++i) {
      const std::int32_t length = lengths_[long_[i].item];
      tokens += length;
      if (i > first && tokens > cuts_.tokens_per_iteration) break;
      const Need& need = needs_.of(length);
      const auto gpus = static_cast<std::size_t>(costs_.sp_degree(need.degree));
      std::size_t freest = 0;
      double free_s = std::numeric_limits<double>::infinity();
      for (std::size_t gpu = 0; gpu < loads.size(); gpu += gpus) {
        const double load_s = *std::max_element(loads.begin() + static_cast<std::ptrdiff_t>(gpu),
                                                loads.begin() + static_cast<std::ptrdiff_t>(gpu + gpus));
        if (load_s >= free_s) continue;
        free_s = load_s;
        freest = gpu;
      }
      std::fill_n(loads.begin() + static_cast<std::ptrdiff_t>(freest), gpus, free_s + need.time_s);
      time_s = std::max(time_s, free_s + need.time_s);
      gpu_s += static_cast<double>(gpus) * need.time_s;
      const auto left = static_cast<double>(std::max<std::int64_t>(0, cuts_.tokens_per_iteration - tokens));
      const double filled_s = gpu_s + left * gpu_s_per_token_;
      const double all_s = std::max(cuts_.n_gpus * time_s, filled_s);
      constexpr double kEqual = 1e-3;
      const double empty = (all_s - filled_s) / all_s;
      if (empty > best_empty + kEqual) continue;
      best_empty = std::min(best_empty, empty);
      best = i - first + 1;
    }
    return best;
  }

  // Short ones in their order, those that wait first, while they fit.
  void fill(std::vector<ItemIndex>& iteration, std::int64_t room, std::size_t& next,
            std::deque<ItemIndex>& waiting) {
    const auto take = [&](ItemIndex item) {
      const bool fits = lengths_[item] <= room || iteration.empty();
      if (fits) {
        iteration.push_back(item);
        room -= lengths_[item];
      }
      return fits;
    };
    std::erase_if(waiting, take);
    // So many that do not fit any more end the iteration.
    constexpr std::size_t kMostSkipped = 32;
    std::size_t n_skipped = 0;
    for (; next < short_.size() && n_skipped < kMostSkipped && room > 0; ++next) {
      if (take(short_[next].item)) continue;
      waiting.push_back(short_[next].item);
      ++n_skipped;
    }
  }

  const DegreeCosts& costs_;
  std::span<const std::int32_t> lengths_;
  IterationCuts cuts_;
  Needs needs_;
  double gpu_s_per_token_ = 0;  // of the short ones, of all where there are none
  std::vector<Placed> long_;    // longest first
  std::vector<Placed> short_;
};

}  // namespace

std::vector<std::vector<ItemIndex>> cut_iterations(const DegreeCosts& costs,
                                                   std::span<const std::int32_t> lengths_tokens,
                                                   std::span<const ItemIndex> order,
                                                   const IterationCuts& cuts) {
  std::vector<std::vector<ItemIndex>> iterations;
  Cutter cutter(costs, lengths_tokens, cuts);
  const std::int64_t window_tokens = cuts.window_iterations > 0
                                         ? cuts.window_iterations * cuts.tokens_per_iteration
                                         : std::numeric_limits<std::int64_t>::max();
  std::size_t begin = 0;
  while (begin < order.size()) {
    std::size_t end = begin;
    std::int64_t tokens = 0;
    while (end < order.size() && (end == begin || tokens + lengths_tokens[order[end]] <= window_tokens))
      tokens += lengths_tokens[order[end++]];
    cutter.cut(order.subspan(begin, end - begin), iterations);
    begin = end;
  }
  return iterations;
}

}  // namespace packsim
