#include "packing/planner/compose_rounds.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>

#include "packing/algorithms/never.hpp"

namespace packsim {
namespace {

// A pack that is being filled, on its GPUs in its round.
struct Slot {
  std::size_t degree = 0;
  int first_gpu = 0;
  int round = 0;
  double load_s = 0;  // sum of its items' shares
  std::int64_t tokens = 0;
  std::vector<ItemIndex> items;
};

struct Round {
  int n_used_gpus = 0;  // GPUs in blocks, counted from the first GPU
  double longest_s = 0;
  double height_s = 0;  // time that its packs are filled up to
};

class RoundComposer {
 public:
  RoundComposer(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens, int n_gpus,
                int n_rounds, const RoundShape& shape)
      : costs_(costs),
        lengths_(lengths_tokens),
        n_gpus_(n_gpus),
        shape_(shape),
        rounds_(static_cast<std::size_t>(n_rounds)) {}

  // goal_s: time that a round should take. Returns false if an item has no room.
  bool place(std::span<const ItemIndex> items, double goal_s) {
    std::vector<std::vector<std::pair<double, ItemIndex>>> by_degree(costs_.n_degrees());
    for (const ItemIndex item : items) {
      const std::size_t degree = smallest_degree(lengths_[item], goal_s);
      by_degree[degree].emplace_back(costs_.share_s(degree, lengths_[item]), item);
    }
    for (std::vector<std::pair<double, ItemIndex>>& of_degree : by_degree) {
      std::ranges::sort(of_degree, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
      });
    }
    for (std::size_t d = by_degree.size(); d-- > 1;) {
      for (const auto& [time_s, item] : by_degree[d]) {
        if (!place_wide(d, item, time_s, goal_s)) return false;
      }
    }
    open_rest();
    double narrow_s = 0;
    for (const auto& timed : by_degree.front()) narrow_s += timed.first;
    set_heights(narrow_s);
    return place_narrow(by_degree.front());
  }

  std::optional<ComposedIteration> result() {
    if (!leave_no_gaps()) return std::nullopt;
    ComposedIteration iteration;
    std::vector<double> longest_s(rounds_.size());
    std::vector<std::int32_t> lengths;
    for (Slot& slot : slots_) {
      if (slot.items.empty()) continue;
      lengths.clear();
      for (const ItemIndex item : slot.items) lengths.push_back(lengths_[item]);
      const double time_s = costs_.pack_s(slot.degree, lengths);
      double& longest = longest_s[static_cast<std::size_t>(slot.round)];
      longest = std::max(longest, time_s);
      iteration.gpu_s += costs_.gpus_per_pack(slot.degree) * time_s;
      iteration.packs.push_back({slot.degree, slot.first_gpu, slot.round, time_s, std::move(slot.items)});
    }
    std::ranges::stable_sort(iteration.packs, {}, &ComposedPack::round);
    int n_rounds = 0;
    for (const double round_s : longest_s) {
      iteration.time_s += round_s;
      if (round_s > 0) ++n_rounds;
    }
    iteration.time_s *= 1 + shape_.fill_rounds / std::max(1, n_rounds);
    return iteration;
  }

 private:
  // The smallest degree at which the item takes at most goal_s, because the GPUs of a block have no other
  // pack in that round; if there is none, the fastest degree.
  std::size_t smallest_degree(std::int64_t length, double goal_s) const {
    std::size_t fastest = 0;
    for (std::size_t d = 0; d < costs_.n_degrees(); ++d) {
      if (costs_.alone_s(d, length) <= goal_s) return d;
      if (costs_.alone_s(d, length) < costs_.alone_s(fastest, length)) fastest = d;
    }
    return fastest;
  }

  Round& round_of(const Slot& slot) { return rounds_[static_cast<std::size_t>(slot.round)]; }

  bool has_room(const Slot& slot, std::int64_t length) const {
    return slot.tokens + length <= costs_.most_tokens(slot.degree);
  }

  void put(Slot& slot, ItemIndex item) {
    slot.load_s += costs_.share_s(slot.degree, lengths_[item]);
    slot.tokens += lengths_[item];
    slot.items.push_back(item);
    round_of(slot).longest_s = std::max(round_of(slot).longest_s, slot.load_s);
  }

  // Puts the item into the fullest block of its degree that then takes no longer than goal_s or its round. If
  // there is none, it opens a new block; if no round has room for one, it takes the block with the least
  // work.
  bool place_wide(std::size_t degree, ItemIndex item, double time_s, double goal_s) {
    Slot* fullest = nullptr;
    Slot* shortest = nullptr;
    for (Slot& slot : slots_) {
      if (slot.degree != degree || !has_room(slot, lengths_[item])) continue;
      if (shortest == nullptr || slot.load_s < shortest->load_s) shortest = &slot;
      if (slot.load_s + time_s > std::max(goal_s, round_of(slot).longest_s)) continue;
      if (fullest == nullptr || slot.load_s > fullest->load_s) fullest = &slot;
    }
    if (fullest != nullptr) {
      put(*fullest, item);
      return true;
    }
    const int gpus = costs_.gpus_per_pack(degree);
    std::size_t best = rounds_.size();
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      if (rounds_[r].n_used_gpus + gpus > n_gpus_) continue;
      // Prefers the longest round, which the new block is least likely to make longer.
      if (best == rounds_.size() || rounds_[r].longest_s > rounds_[best].longest_s) best = r;
    }
    if (best < rounds_.size()) {
      slots_.push_back({.degree = degree,
                        .first_gpu = rounds_[best].n_used_gpus,
                        .round = static_cast<int>(best),
                        .items = {}});
      rounds_[best].n_used_gpus += gpus;
      put(slots_.back(), item);
      return true;
    }
    if (shortest == nullptr) return false;
    put(*shortest, item);
    return true;
  }

  // All GPUs without a block become blocks of the smallest degree.
  void open_rest() {
    const int gpus = costs_.gpus_per_pack(0);
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      for (int gpu = rounds_[r].n_used_gpus; gpu < n_gpus_; gpu += gpus)
        slots_.push_back({.degree = 0, .first_gpu = gpu, .round = static_cast<int>(r), .items = {}});
    }
  }

  // Sets the height of every round: the level to which the items of the smallest degree fill all rounds, but
  // at least the time that the round takes already.
  void set_heights(double narrow_s) {
    double low_s = 0;
    double high_s = narrow_s;
    for (const Round& round : rounds_) high_s += round.longest_s;
    const auto room_s = [&](double height_s) {
      double sum_s = 0;
      for (const Slot& slot : slots_)
        sum_s += std::max(0.0, std::max(height_s, round_of(slot).longest_s) - slot.load_s);
      return sum_s;
    };
    for (int i = 0; i < 40; ++i) {
      const double middle_s = (low_s + high_s) / 2;
      (room_s(middle_s) < narrow_s ? low_s : high_s) = middle_s;
    }
    for (Round& round : rounds_) round.height_s = std::max(round.longest_s, high_s);
  }

  // Puts each item, longest first, into the pack that is furthest below the height of its round.
  bool place_narrow(std::span<const std::pair<double, ItemIndex>> timed_items) {
    using Below = std::tuple<double, std::size_t>;  // load minus height of the round, and the slot's index
    std::priority_queue<Below, std::vector<Below>, std::greater<>> below;
    const auto push = [&](std::size_t s) {
      below.emplace(slots_[s].load_s - round_of(slots_[s]).height_s, s);
    };
    for (std::size_t s = 0; s < slots_.size(); ++s) push(s);
    std::vector<std::size_t> full;  // packs without room for this item
    for (const auto& [time_s, item] : timed_items) {
      full.clear();
      while (!below.empty() && !has_room(slots_[std::get<1>(below.top())], lengths_[item])) {
        full.push_back(std::get<1>(below.top()));
        below.pop();
      }
      if (below.empty()) return false;
      const std::size_t best = std::get<1>(below.top());
      below.pop();
      put(slots_[best], item);
      push(best);
      for (const std::size_t s : full) push(s);
    }
    return true;
  }

  // Makes sure that every GPU has a pack in every round up to its last one, or in all rounds if the shape
  // requires it. Returns false if there are too few items.
  bool leave_no_gaps() {
    std::vector<std::vector<Slot*>> of_gpu(static_cast<std::size_t>(n_gpus_),
                                           std::vector<Slot*>(rounds_.size(), nullptr));
    for (Slot& slot : slots_) {
      for (int gpu = slot.first_gpu; gpu < slot.first_gpu + costs_.gpus_per_pack(slot.degree); ++gpu)
        of_gpu[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(slot.round)] = &slot;
    }
    for (std::vector<Slot*>& slots : of_gpu) {
      std::size_t n = slots.size();
      while (shape_.multiple == 1 && n > 0 && slots[n - 1]->items.empty()) --n;
      for (std::size_t r = 0; r < n; ++r) {
        if (!slots[r]->items.empty()) continue;
        if (!fill_gap(*slots[r])) return false;
      }
    }
    return true;
  }

  // Moves the shortest item of the fullest pack with several items into an empty slot. It prefers packs of
  // the same round. Returns false if there is no such pack.
  bool fill_gap(Slot& empty) {
    Slot* fullest = nullptr;
    const auto is_better = [&](const Slot& slot) {
      if (fullest == nullptr) return true;
      const bool is_here = slot.round == empty.round;
      if (is_here != (fullest->round == empty.round)) return is_here;
      return slot.load_s > fullest->load_s;
    };
    for (Slot& slot : slots_) {
      if (slot.degree == empty.degree && slot.items.size() > 1 && is_better(slot)) fullest = &slot;
    }
    if (fullest == nullptr) return false;
    const auto shortest =
        std::ranges::min_element(fullest->items, {}, [&](ItemIndex item) { return lengths_[item]; });
    const ItemIndex item = *shortest;
    fullest->items.erase(shortest);
    fullest->tokens -= lengths_[item];
    fullest->load_s -= costs_.share_s(fullest->degree, lengths_[item]);
    put(empty, item);
    return true;
  }

  const DegreeCosts& costs_;
  std::span<const std::int32_t> lengths_;
  int n_gpus_;
  RoundShape shape_;
  std::vector<Round> rounds_;
  std::vector<Slot> slots_;
};

// The most rounds, a multiple of shape.multiple, for which there are enough items to give every block of the
// smallest degree a pack.
int most_full_rounds(const DegreeCosts& costs, std::size_t n_items, int n_gpus, const RoundShape& shape) {
  const auto n_blocks = static_cast<std::size_t>(n_gpus / costs.gpus_per_pack(0));
  return static_cast<int>(n_items / n_blocks) / shape.multiple * shape.multiple;
}

// The work of the items in packs of the smallest degree. Items that such packs cannot hold are left out,
// except for their tokens.
RoundWork round_work(const DegreeCosts& costs, std::span<const std::int32_t> lengths,
                     std::span<const ItemIndex> items, int n_gpus) {
  RoundWork work;
  std::vector<double> alone_s;
  for (const ItemIndex item : items) {
    const std::int64_t length = lengths[item];
    work.tokens += length;
    if (length > costs.most_tokens(0)) continue;
    work.attention_gpu_s += costs.gpus_per_pack(0) * costs.attention_s(0, length, costs.best_tokens(0));
    alone_s.push_back(costs.alone_s(0, length));
  }
  std::ranges::sort(alone_s, std::greater<>());
  const auto n_blocks = static_cast<std::size_t>(n_gpus / costs.gpus_per_pack(0));
  for (std::size_t i = 0; i < alone_s.size(); i += n_blocks) work.least_s.push_back(alone_s[i]);
  return work;
}

}  // namespace

int best_rounds(const DegreeCosts& costs, const RoundWork& work, int n_gpus, const RoundShape& shape) {
  constexpr std::int64_t kMost = 4096;
  constexpr double kFarOff = 2;
  const std::int64_t n_blocks = n_gpus / costs.gpus_per_pack(0);
  const double attention_s = work.attention_gpu_s / n_gpus;
  int best = shape.multiple;
  double best_s = kNever;
  double least_s = 0;  // sum over the rounds so far of their longest items
  std::size_t next = 0;
  for (std::int64_t n = shape.multiple; n <= kMost; n += shape.multiple) {
    for (; next < work.least_s.size() && next < static_cast<std::size_t>(n); ++next)
      least_s += work.least_s[next];
    const std::int64_t pack_tokens = (work.tokens + n * n_blocks - 1) / (n * n_blocks);
    if (pack_tokens > costs.most_tokens(0)) continue;
    const double rounds = static_cast<double>(n);
    const double packs_s = rounds * costs.tokens_s(0, pack_tokens) + attention_s;
    const double time_s = (1 + shape.fill_rounds / rounds) * std::max(packs_s, least_s);
    if (time_s < best_s) {
      best_s = time_s;
      best = static_cast<int>(n);
    }
    if (pack_tokens <= 1 || time_s > kFarOff * best_s) break;
  }
  return best;
}

ComposedIteration compose_rounds(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                                 std::span<const ItemIndex> items, int n_gpus, const RoundShape& shape) {
  const double even_s = even_time_s(costs, lengths_tokens, items, n_gpus);
  int middle = best_rounds(costs, round_work(costs, lengths_tokens, items, n_gpus), n_gpus, shape);
  if (shape.multiple > 1) middle = std::min(middle, most_full_rounds(costs, items.size(), n_gpus, shape));
  ComposedIteration best;
  best.time_s = kNever;
  const int step = shape.multiple;
  for (int n_rounds = std::max(step, middle - step); n_rounds <= middle + 2 * step; n_rounds += step) {
    // The goals are parts of even_s: about that of the mean round, and about that of all rounds together for
    // items that are most of the iteration.
    for (const double part : {1.0 / n_rounds, 1.2 / n_rounds, 1.5 / n_rounds, 2.0 / n_rounds, 1.05, 1.4}) {
      RoundComposer composer(costs, lengths_tokens, n_gpus, n_rounds, shape);
      if (composer.place(items, part * even_s)) {
        std::optional<ComposedIteration> attempt = composer.result();
        if (attempt && attempt->time_s < best.time_s) best = std::move(*attempt);
      }
      if (costs.n_degrees() == 1) break;  // the goal only matters if items can choose their degree
    }
  }
  if (best.time_s < kNever || shape.multiple > 1) return best;
  // If there are only few items of very different lengths, each GPU runs its packs one after another without
  // rounds.
  return compose_iteration(costs, lengths_tokens, items, n_gpus);
}

}  // namespace packsim
