#include "packing/planner/cut_iterations.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "packing/planner/compose_rounds.hpp"

namespace packsim {
namespace {

// The cost of an item at its cheapest degree.
struct Need {
  double gpu_s = 0;
  double time_s = 0;  // in a pack of its own
  std::size_t degree = 0;
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
    Need need{.gpu_s = std::numeric_limits<double>::infinity()};
    for (std::size_t d = 0; d < costs_.n_degrees(); ++d) {
      const double gpu_s = costs_.gpus_per_pack(d) * costs_.share_s(d, length);
      if (gpu_s >= need.gpu_s) continue;
      need = {.gpu_s = gpu_s, .time_s = costs_.alone_s(d, length), .degree = d};
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

  // Divides a window into iterations and appends them.
  void cut(std::span<const ItemIndex> window, std::vector<std::vector<ItemIndex>>& iterations) {
    std::int64_t tokens = 0;
    for (const ItemIndex item : window) tokens += lengths_[item];
    if (tokens <= cuts_.tokens_per_iteration) {
      iterations.emplace_back(window.begin(), window.end());
      return;
    }
    find_long(window);
    std::vector<LongOnes> long_iterations = collect_long();
    std::ranges::stable_sort(long_iterations, {}, &LongOnes::position);
    std::size_t next_long = 0;
    next_ = 0;
    waiting_.clear();
    while (has_short() || next_long < long_iterations.size()) {
      Iteration iteration{.room = cuts_.tokens_per_iteration};
      const std::size_t position = next_ < short_.size() ? short_[next_].position : window.size();
      if (next_long < long_iterations.size() &&
          (long_iterations[next_long].position <= position || !has_short())) {
        for (const ItemIndex item : long_iterations[next_long].items) take(item, iteration);
        iteration.longest_s = std::max(iteration.longest_s, long_iterations[next_long].time_s);
        // The other items form one more round, which takes as long as its longest pack.
        if (cuts_.rounds != nullptr) iteration.longest_tokens = 2 * iteration.room / cuts_.n_gpus;
        ++next_long;
      }
      fill(iteration);
      iterations.push_back(std::move(iteration.items));
    }
  }

 private:
  struct Placed {
    ItemIndex item = 0;
    std::size_t position = 0;  // in the window
  };
  struct LongOnes {
    std::size_t position = 0;  // of the first of them in the window
    double time_s = 0;         // what they take if they share all GPUs
    std::vector<ItemIndex> items;
  };
  // An iteration that is still being filled.
  struct Iteration {
    std::int64_t room = 0;  // tokens that it can still take
    // Longest item that may still be added.
    std::int64_t longest_tokens = std::numeric_limits<std::int64_t>::max();
    double longest_s = 0;  // least time of the iteration, because of its longest item
    double gpu_s = 0;
    std::vector<ItemIndex> items = {};
  };

  void find_long(std::span<const ItemIndex> window) {
    double gpu_s = 0;
    std::int64_t tokens = 0;
    for (const ItemIndex item : window) {
      gpu_s += needs_.of(lengths_[item]).gpu_s;
      tokens += lengths_[item];
    }
    gpu_s_per_token_ = tokens > 0 ? gpu_s / static_cast<double>(tokens) : 0;
    // iteration_s is what an iteration takes if no GPU waits. An item that takes nearly all of that leaves
    // too little work to keep the other GPUs busy.
    constexpr double kMost = 0.9;
    const double iteration_s =
        gpu_s_per_token_ * static_cast<double>(std::min(cuts_.tokens_per_iteration, tokens)) / cuts_.n_gpus;
    long_.clear();
    short_.clear();
    for (std::size_t i = 0; i < window.size(); ++i) {
      const std::int32_t length = lengths_[window[i]];
      const bool is_long = cuts_.rounds != nullptr ? costs_.alone_s(0, length) > longest_pack_s(iteration_s)
                                                   : needs_.of(length).time_s > kMost * iteration_s;
      (is_long ? long_ : short_).push_back({window[i], i});
    }
    double short_s = 0;
    short_tokens_ = 0;
    for (const Placed& placed : short_) {
      short_s += needs_.of(lengths_[placed.item]).gpu_s;
      short_tokens_ += lengths_[placed.item];
    }
    if (short_tokens_ > 0) gpu_s_per_token_ = short_s / static_cast<double>(short_tokens_);
    std::ranges::stable_sort(long_, [&](const Placed& a, const Placed& b) {
      return needs_.of(lengths_[a.item]).time_s > needs_.of(lengths_[b.item]).time_s;
    });
  }

  // The longest time that a pack of the smallest degree may take in a round.
  double longest_pack_s(double iteration_s) const {
    // The factor is a share of the mean round; longer packs would keep the other GPUs waiting.
    constexpr double kFactor = 0.8;
    return kFactor * iteration_s /
           best_rounds(costs_, {.tokens = cuts_.tokens_per_iteration}, cuts_.n_gpus, *cuts_.rounds);
  }

  std::vector<LongOnes> collect_long() {
    std::vector<LongOnes> iterations;
    for (std::size_t first = 0; first < long_.size();) {
      LongOnes& iteration = iterations.emplace_back();
      const std::size_t n = best_number(first, iteration.time_s);
      iteration.position = long_[first].position;
      for (std::size_t i = first; i < first + n; ++i) {
        iteration.items.push_back(long_[i].item);
        iteration.position = std::min(iteration.position, long_[i].position);
      }
      first += n;
    }
    return iterations;
  }

  // The number of next long items to put in one iteration so that, once short items fill what they can, the
  // smallest share of its time is idle. Of equally good numbers it is the largest; a full iteration is
  // preferred.
  std::size_t best_number(std::size_t first, double& best_time_s) {
    std::vector<double> loads(static_cast<std::size_t>(cuts_.n_gpus));
    double time_s = 0;
    double gpu_s = 0;
    std::int64_t tokens = 0;
    std::size_t best = 1;
    double best_empty = std::numeric_limits<double>::infinity();
    std::int64_t fill_tokens = 0;
    bool is_full = false;
    for (std::size_t i = first; i < long_.size(); ++i) {
      const std::int32_t length = lengths_[long_[i].item];
      tokens += length;
      if (i > first && tokens > cuts_.tokens_per_iteration) break;
      const Need& need = needs_.of(length);
      const auto gpus = static_cast<std::size_t>(costs_.gpus_per_pack(need.degree));
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
      const std::int64_t room = std::max<std::int64_t>(0, cuts_.tokens_per_iteration - tokens);
      const std::int64_t fill = std::min(room, short_tokens_);
      const double filled_s = gpu_s + static_cast<double>(fill) * gpu_s_per_token_;
      const double all_s = std::max(cuts_.n_gpus * time_s, filled_s);
      constexpr double kEqual = 1e-3;
      const double empty = (all_s - filled_s) / all_s;
      // An iteration is full if less than 1/20 of its tokens are missing.
      constexpr std::int64_t kMuch = 20;
      const bool fills = room - fill < cuts_.tokens_per_iteration / kMuch;
      if (is_full && !fills) continue;
      if (is_full == fills && empty > best_empty + kEqual) continue;
      best_empty = is_full == fills ? std::min(best_empty, empty) : empty;
      is_full = fills;
      best = i - first + 1;
      best_time_s = time_s;
      fill_tokens = fill;
    }
    short_tokens_ -= fill_tokens;
    return best;
  }

  bool has_short() const { return next_ < short_.size() || !waiting_.empty(); }

  void take(ItemIndex item, Iteration& iteration) {
    const Need& need = needs_.of(lengths_[item]);
    iteration.items.push_back(item);
    iteration.room -= lengths_[item];
    iteration.gpu_s += need.gpu_s;
    iteration.longest_s = std::max(iteration.longest_s, need.time_s);
  }

  // GPU time that every further token of the iteration needs, so that no GPU waits for its longest item.
  double wanted_density(const Iteration& iteration) const {
    constexpr double kMargin = 1.03;  // no GPU can be filled exactly
    const double wanted_s = kMargin * cuts_.n_gpus * iteration.longest_s - iteration.gpu_s;
    return wanted_s / static_cast<double>(std::max<std::int64_t>(1, iteration.room));
  }

  // Adds short items in their order, waiting ones first, as long as they fit. If GPUs would be idle
  // otherwise, it adds those of the next items that have just enough work for their tokens.
  void fill(Iteration& iteration) {
    constexpr std::size_t kLookAhead = 256;
    while (waiting_.size() < kLookAhead && next_ < short_.size()) waiting_.push_back(short_[next_++].item);
    while (iteration.room > 0 && !waiting_.empty()) {
      const double wanted = wanted_density(iteration);
      // If nothing fits although much room is left, longer items are allowed: one more round of long packs is
      // better than an iteration that is not full.
      constexpr std::int64_t kMuch = 50;  // more than 1/50 of its tokens
      if (iteration.room > cuts_.tokens_per_iteration / kMuch && first_that_fits(iteration) == waiting_.end())
        iteration.longest_tokens = iteration.room;
      const auto chosen =
          wanted > gpu_s_per_token_ ? dense_enough(wanted, iteration) : first_that_fits(iteration);
      if (chosen == waiting_.end()) return;
      take(*chosen, iteration);
      waiting_.erase(chosen);
      if (next_ < short_.size()) waiting_.push_back(short_[next_++].item);
    }
  }

  bool fits(ItemIndex item, const Iteration& iteration) const {
    return lengths_[item] <= std::min(iteration.room, iteration.longest_tokens) || iteration.items.empty();
  }

  std::deque<ItemIndex>::iterator first_that_fits(const Iteration& iteration) {
    return std::ranges::find_if(waiting_, [&](ItemIndex item) { return fits(item, iteration); });
  }

  // The item with the least work per token that is still at least the wanted one, or else the item with the
  // most. Items that would make the iteration longer are not considered.
  std::deque<ItemIndex>::iterator dense_enough(double wanted, const Iteration& iteration) {
    auto best = waiting_.end();
    double best_density = 0;
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      const Need& need = needs_.of(lengths_[*at]);
      if (!fits(*at, iteration) || need.time_s > iteration.longest_s) continue;
      const double density = need.gpu_s / std::max(1, lengths_[*at]);
      const bool is_better =
          best_density < wanted ? density > best_density : density >= wanted && density < best_density;
      if (best != waiting_.end() && !is_better) continue;
      best = at;
      best_density = density;
    }
    return best != waiting_.end() ? best : first_that_fits(iteration);
  }

  const DegreeCosts& costs_;
  std::span<const std::int32_t> lengths_;
  IterationCuts cuts_;
  Needs needs_;
  std::int64_t short_tokens_ = 0;  // of short items that no iteration of long ones counts on
  double gpu_s_per_token_ = 0;     // of short items, or of all items if none is short
  std::vector<Placed> long_;       // longest first
  std::vector<Placed> short_;
  std::size_t next_ = 0;           // index in short_
  std::deque<ItemIndex> waiting_;  // the next short items, and earlier ones that did not fit
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
