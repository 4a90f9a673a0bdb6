#include "packing/planner/compose_iteration.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "packing/algorithms/never.hpp"
#include "packing/planner/block_packer.hpp"
#include "packing/planner/item_costs.hpp"

namespace packsim {
namespace {

class Composer {
 public:
  Composer(const DegreeCosts& costs, ItemCosts& items, int n_gpus)
      : costs_(costs), items_(items), packer_(costs, items), n_gpus_(n_gpus) {
    for (std::size_t d = 0; d < costs.n_degrees(); ++d)
      blocks_.emplace_back(static_cast<std::size_t>(n_gpus / costs.gpus_per_pack(d)));
    by_degree_.resize(costs.n_degrees());
  }

  // Gives each item its degree. Items that take longer than goal_s at their cheapest degree get more GPUs,
  // where that helps. Returns false if an earlier goal gave all items the same degrees.
  bool assign(double goal_s) {
    std::vector<std::uint8_t> degrees(items_.n_items());
    for (ItemRank rank = 0; rank < degrees.size(); ++rank)
      degrees[rank] = static_cast<std::uint8_t>(items_.cheapest_degree(rank, goal_s));
    if (std::ranges::find(assigned_, degrees) != assigned_.end()) return false;
    assigned_.push_back(std::move(degrees));
    return true;
  }

  // Places the items at their latest degrees. Returns the GPU time of all shares.
  double place() {
    clear();
    const std::vector<std::uint8_t>& degrees = assigned_.back();
    double shares_s = 0;
    for (const ItemRank rank : items_.order())
      shares_s += costs_.gpus_per_pack(degrees[rank]) * items_.share_s(degrees[rank], rank);
    for (ItemRank rank = 0; rank < degrees.size(); ++rank)
      by_degree_[degrees[rank]].emplace_back(items_.share_s(degrees[rank], rank), rank);
    std::vector<double> loads(static_cast<std::size_t>(n_gpus_));
    for (std::size_t d = by_degree_.size(); d-- > 0;) {
      const auto is_before = [&](const TimedItem& a, const TimedItem& b) {
        return a.first != b.first ? a.first > b.first : items_.item(a.second) < items_.item(b.second);
      };
      // Longer items mostly have more work, so that they are sorted already.
      if (!std::ranges::is_sorted(by_degree_[d], is_before)) std::ranges::sort(by_degree_[d], is_before);
      place_degree(d, by_degree_[d], loads);
    }
    even_out_all();
    placed_ = blocks_;
    return shares_s;
  }

  // Evens out what place() left, and packs it. With relieves, the busiest GPUs are relieved, which costs GPU
  // time; returns false, without packs, if there is nothing to relieve.
  bool finish(bool relieves) {
    if (relieves) blocks_ = placed_;
    bool relieved = false;
    for (int pass = 0; pass < 3; ++pass) {
      if (pass > 0) even_out_all();
      if (relieves && relieve_busiest()) relieved = true;
    }
    if (relieves && !relieved) return false;
    for (std::size_t d = 0; d < blocks_.size(); ++d) {
      for (PlannerBlock& block : blocks_[d]) packer_.pack(d, block);
    }
    return true;
  }

  // Moves items of the smallest degree between GPUs.
  void level() {
    const std::size_t degree = 0;
    const std::size_t n_blocks = blocks_[degree].size();
    std::vector<double> loads = block_loads(degree);
    for (std::size_t moves = 0; moves < 4 * n_blocks; ++moves) {
      const auto busiest = static_cast<std::size_t>(std::ranges::max_element(loads) - loads.begin());
      const auto idlest = static_cast<std::size_t>(std::ranges::min_element(loads) - loads.begin());
      if (loads[busiest] - loads[idlest] < 1e-3 * loads[busiest]) return;
      if (!exchange(degree, busiest, idlest, loads)) return;
    }
  }

  // The iteration comes without its packs.
  ComposedIteration times() const {
    ComposedIteration iteration;
    std::vector<double> loads(static_cast<std::size_t>(n_gpus_));
    for (std::size_t d = blocks_.size(); d-- > 0;) {
      for (std::size_t b = 0; b < blocks_[d].size(); ++b) {
        for (const double pack_s : blocks_[d][b].pack_s) {
          for (double& load : gpus_of(loads, d, b)) load += pack_s;
        }
      }
    }
    iteration.time_s = *std::ranges::max_element(loads);
    iteration.gpu_s = std::accumulate(loads.begin(), loads.end(), 0.0);
    return iteration;
  }

  std::vector<ComposedPack> packs() {
    std::vector<ComposedPack> packs;
    std::vector<int> rounds(static_cast<std::size_t>(n_gpus_));
    for (std::size_t d = blocks_.size(); d-- > 0;) {
      const int gpus = costs_.gpus_per_pack(d);
      for (std::size_t b = 0; b < blocks_[d].size(); ++b) {
        const PlannerBlock& block = blocks_[d][b];
        if (block.n_packs == 0) continue;
        const int first_gpu = static_cast<int>(b) * gpus;
        const auto first = static_cast<std::size_t>(first_gpu);
        std::vector<std::vector<ItemIndex>> of_block = packer_.packs(d, block);
        for (std::size_t p = 0; p < of_block.size(); ++p) {
          packs.push_back({d, first_gpu, rounds[first], block.pack_s[p], std::move(of_block[p])});
          for (std::size_t gpu = first; gpu < first + static_cast<std::size_t>(gpus); ++gpu) ++rounds[gpu];
        }
      }
    }
    std::ranges::stable_sort(packs, {}, &ComposedPack::round);
    return packs;
  }

 private:
  using TimedItem = std::pair<double, ItemRank>;  // its share, and the item

  void clear() {
    for (auto& of_degree : by_degree_) of_degree.clear();
    for (std::vector<PlannerBlock>& blocks : blocks_) {
      for (PlannerBlock& block : blocks) {
        block.items.clear();
        block.pack_s.clear();
        block.n_packs = 0;
        block.time_s = 0;
      }
    }
  }

  // Longest first, to the block whose last GPU is free first.
  void place_degree(std::size_t degree, std::span<const TimedItem> items, std::vector<double>& loads) {
    if (items.empty()) return;
    using Free = std::pair<double, std::size_t>;
    const auto gpus = static_cast<std::size_t>(costs_.gpus_per_pack(degree));
    std::vector<Free> free;
    for (std::size_t b = 0; b < blocks_[degree].size(); ++b) {
      const auto begin = loads.begin() + static_cast<std::ptrdiff_t>(b * gpus);
      free.emplace_back(*std::max_element(begin, begin + static_cast<std::ptrdiff_t>(gpus)), b);
    }
    std::priority_queue<Free, std::vector<Free>, std::greater<>> queue(std::greater<>(), std::move(free));
    for (const auto& [time_s, item] : items) {
      const auto [free_s, b] = queue.top();
      queue.pop();
      blocks_[degree][b].items.push_back(item);
      queue.emplace(free_s + time_s, b);
    }
    for (; !queue.empty(); queue.pop()) {
      const auto [free_s, b] = queue.top();
      if (!blocks_[degree][b].items.empty())
        std::fill_n(loads.begin() + static_cast<std::ptrdiff_t>(b * gpus), gpus, free_s);
    }
  }

  // What each block's GPUs take in the mean, by shares of the items of all degrees.
  std::vector<double> mean_loads(std::size_t degree) const {
    std::vector<double> loads(blocks_[degree].size());
    const auto gpus = static_cast<std::size_t>(costs_.gpus_per_pack(degree));
    for (std::size_t d = 0; d < blocks_.size(); ++d) {
      const auto own_gpus = static_cast<std::size_t>(costs_.gpus_per_pack(d));
      for (std::size_t b = 0; b < blocks_[d].size(); ++b) {
        double time_s = 0;
        for (const ItemRank rank : blocks_[d][b].items) time_s += items_.share_s(d, rank);
        if (own_gpus <= gpus) {
          loads[b * own_gpus / gpus] += time_s * static_cast<double>(own_gpus) / static_cast<double>(gpus);
        } else {
          for (std::size_t at = b * own_gpus / gpus; at < (b + 1) * own_gpus / gpus; ++at)
            loads[at] += time_s;
        }
      }
    }
    return loads;
  }

  void even_out_all() {
    for (std::size_t d = blocks_.size(); d-- > 0;) even_out(d);
  }

  // Items of a degree, one for another or for nothing, between the blocks with most and with least to do, as
  // long as that brings the two nearer to each other.
  void even_out(std::size_t degree) {
    std::vector<PlannerBlock>& blocks = blocks_[degree];
    const bool is_empty =
        std::ranges::all_of(blocks, [](const PlannerBlock& block) { return block.items.empty(); });
    if (blocks.size() < 2 || is_empty) return;
    std::vector<double> loads = mean_loads(degree);
    for (std::size_t moves = 0; moves < 8 * blocks.size(); ++moves) {
      const auto most = static_cast<std::size_t>(std::ranges::max_element(loads) - loads.begin());
      const auto least = static_cast<std::size_t>(std::ranges::min_element(loads) - loads.begin());
      const double apart_s = loads[most] - loads[least];
      if (apart_s < 1e-3 * loads[most]) return;
      std::vector<ItemRank>& from = blocks[most].items;
      std::vector<ItemRank>& to = blocks[least].items;
      take_s_.clear();
      for (const ItemRank rank : to) take_s_.push_back(items_.share_s(degree, rank));
      take_s_.push_back(0);
      double best_off_s = apart_s / 2;
      std::size_t give = from.size();
      std::size_t take = to.size();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const double give_s = items_.share_s(degree, from[i]);
        for (std::size_t j = 0; j <= to.size(); ++j) {
          const double moved_s = give_s - take_s_[j];
          const double off_s = std::abs(moved_s - apart_s / 2);
          if (off_s >= best_off_s * (1 - 1e-9)) continue;
          best_off_s = off_s;
          give = i;
          take = j;
        }
      }
      if (give == from.size()) return;
      const double moved_s = items_.share_s(degree, from[give]) - take_s_[take];
      const ItemRank given = from[give];
      if (take < to.size()) {
        std::swap(from[give], to[take]);
      } else {
        from.erase(from.begin() + static_cast<std::ptrdiff_t>(give));
        to.push_back(given);
      }
      loads[most] -= moved_s;
      loads[least] += moved_s;
    }
  }

  std::vector<double> gpu_loads() const {
    std::vector<double> loads(static_cast<std::size_t>(n_gpus_));
    for (std::size_t d = 0; d < blocks_.size(); ++d) {
      for (std::size_t b = 0; b < blocks_[d].size(); ++b) {
        double time_s = 0;
        for (const ItemRank rank : blocks_[d][b].items) time_s += items_.share_s(d, rank);
        for (double& load : gpus_of(loads, d, b)) load += time_s;
      }
    }
    return loads;
  }
  std::span<double> gpus_of(std::vector<double>& loads, std::size_t degree, std::size_t block) const {
    const auto gpus = static_cast<std::size_t>(costs_.gpus_per_pack(degree));
    return std::span(loads).subspan(block * gpus, gpus);
  }

  // Items of the busiest GPU go to other blocks, of whatever degree, as long as nobody is as busy afterwards.
  // Returns whether any did.
  bool relieve_busiest() {
    std::vector<double> loads = gpu_loads();
    for (int moves = 0; moves < 4 * n_gpus_; ++moves) {
      const auto busiest = std::ranges::max_element(loads);
      const auto gpu = static_cast<std::size_t>(busiest - loads.begin());
      Move best{.busiest_s = *busiest * (1 - 1e-6)};
      for (std::size_t d = 0; d < blocks_.size(); ++d) {
        const std::size_t b = gpu / static_cast<std::size_t>(costs_.gpus_per_pack(d));
        for (std::size_t i = 0; i < blocks_[d][b].items.size(); ++i) consider({d, b, i}, loads, best);
      }
      if (best.to_degree >= blocks_.size()) return moves > 0;
      std::vector<ItemRank>& from = blocks_[best.from.degree][best.from.block].items;
      const ItemRank moved = from[best.from.position];
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(best.from.position));
      blocks_[best.to_degree][best.to_block].items.push_back(moved);
      for (double& load : gpus_of(loads, best.from.degree, best.from.block))
        load -= items_.share_s(best.from.degree, moved);
      for (double& load : gpus_of(loads, best.to_degree, best.to_block))
        load += items_.share_s(best.to_degree, moved);
    }
    return true;
  }

  struct Place {
    std::size_t degree = 0;
    std::size_t block = 0;
    std::size_t position = 0;
  };
  struct Move {
    Place from = {};
    std::size_t to_degree = std::numeric_limits<std::size_t>::max();
    std::size_t to_block = 0;
    double busiest_s = 0;  // of the GPUs that it changes
  };

  // All other places of an item.
  void consider(const Place& from, std::vector<double>& loads, Move& best) const {
    const ItemRank rank = blocks_[from.degree][from.block].items[from.position];
    const double own_s = items_.share_s(from.degree, rank);
    for (double& load : gpus_of(loads, from.degree, from.block)) load -= own_s;
    const double left_s = std::ranges::max(gpus_of(loads, from.degree, from.block));
    for (std::size_t d = 0; left_s < best.busiest_s && d < blocks_.size(); ++d) {
      const double time_s = items_.share_s(d, rank);
      if (time_s >= best.busiest_s) continue;
      for (std::size_t b = 0; b < blocks_[d].size(); ++b) {
        if (d == from.degree && b == from.block) continue;
        const double busiest_s = std::max(left_s, std::ranges::max(gpus_of(loads, d, b)) + time_s);
        if (busiest_s < best.busiest_s) best = {from, d, b, busiest_s};
      }
    }
    for (double& load : gpus_of(loads, from.degree, from.block)) load += own_s;
  }

  // The loads of a degree's blocks include all that other degrees have on their busiest GPU.
  std::vector<double> block_loads(std::size_t degree) const {
    std::vector<double> loads;
    const int gpus = costs_.gpus_per_pack(degree);
    for (std::size_t b = 0; b < blocks_[degree].size(); ++b) {
      double load_s = 0;
      for (std::size_t d = degree; d < blocks_.size(); ++d)
        load_s +=
            blocks_[d][b * static_cast<std::size_t>(gpus) / static_cast<std::size_t>(costs_.gpus_per_pack(d))]
                .time_s;
      loads.push_back(load_s);
    }
    return loads;
  }

  struct Swap {
    double off_s = 0;
    std::size_t give = 0;
    std::size_t take = 0;  // of the other block's items; their number: nothing
    auto operator<=>(const Swap&) const = default;
  };

  // The few swaps that come nearest to moving so much, into swaps_.
  void find_swaps(std::size_t degree, const PlannerBlock& from, const PlannerBlock& to, double wanted_s) {
    constexpr std::size_t kTries = 4;
    take_s_.clear();
    for (const ItemRank rank : to.items) take_s_.push_back(items_.share_s(degree, rank));
    take_s_.push_back(0);
    swaps_.clear();
    double most_off_s = wanted_s;  // of a swap that is kept
    for (std::size_t i = 0; i < from.items.size(); ++i) {
      const double give_s = items_.share_s(degree, from.items[i]);
      for (std::size_t j = 0; j < take_s_.size(); ++j) {
        const double moved_s = give_s - take_s_[j];
        const Swap swap{std::abs(moved_s - wanted_s), i, j};
        if (swap.off_s > most_off_s) continue;
        if (!(moved_s > 0 && moved_s < 2 * wanted_s)) continue;
        if (swaps_.size() == kTries) {
          if (swap > swaps_.back()) continue;
          swaps_.pop_back();
        }
        swaps_.insert(std::ranges::upper_bound(swaps_, swap), swap);
        if (swaps_.size() == kTries) most_off_s = swaps_.back().off_s;
      }
    }
  }

  // One item to the idlest block, or one against another; what levels the two best by their shares.
  bool exchange(std::size_t degree, std::size_t busiest, std::size_t idlest, std::vector<double>& loads) {
    PlannerBlock& from = blocks_[degree][busiest];
    PlannerBlock& to = blocks_[degree][idlest];
    find_swaps(degree, from, to, (loads[busiest] - loads[idlest]) / 2);
    for (const Swap& swap : swaps_) {
      new_from_.items = from.items;
      new_to_.items = to.items;
      if (swap.take < to.items.size()) {
        std::swap(new_from_.items[swap.give], new_to_.items[swap.take]);
      } else {
        new_from_.items.erase(new_from_.items.begin() + static_cast<std::ptrdiff_t>(swap.give));
        new_to_.items.push_back(from.items[swap.give]);
      }
      packer_.pack(degree, new_from_);
      const double from_s = loads[busiest] - from.time_s + new_from_.time_s;
      if (from_s >= loads[busiest]) continue;
      packer_.pack(degree, new_to_);
      const double to_s = loads[idlest] - to.time_s + new_to_.time_s;
      if (to_s >= loads[busiest]) continue;
      std::swap(from, new_from_);
      std::swap(to, new_to_);
      loads[busiest] = from_s;
      loads[idlest] = to_s;
      return true;
    }
    return false;
  }

  const DegreeCosts& costs_;
  ItemCosts& items_;
  BlockPacker packer_;
  int n_gpus_;
  std::vector<std::vector<PlannerBlock>> blocks_;  // [n_degrees][n_gpus / SP degree]
  std::vector<std::vector<PlannerBlock>> placed_;  // the blocks as place() left them
  std::vector<std::vector<TimedItem>> by_degree_;
  std::vector<std::vector<std::uint8_t>> assigned_;  // degrees by rank, of each goal so far
  std::vector<double> take_s_;                       // scratch of even_out()
  std::vector<Swap> swaps_;                          // scratch of exchange()
  PlannerBlock new_from_;
  PlannerBlock new_to_;
};

}  // namespace

ComposedIteration compose_iteration(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                                    std::span<const ItemIndex> items, int n_gpus) {
  ItemCosts item_costs(costs, lengths_tokens, items);
  const double even_s = item_costs.even_s(n_gpus);
  ComposedIteration best;
  best.time_s = kNever;
  Composer composer(costs, item_costs, n_gpus);
  // Items may take as long as the others together; a little less where they crowd, longer where they are
  // many.
  for (const double part : {1.0, 0.7, 1.5, 2.5, 5.0, 0.4, 0.2}) {
    if (!composer.assign(part * even_s)) continue;
    const double shares_s = composer.place();
    for (const bool relieves : {false, true}) {
      if (!composer.finish(relieves)) continue;
      composer.level();
      ComposedIteration attempt = composer.times();
      // Next to nothing to be had from other degrees, and from levelling.
      constexpr double kNextToNothing = 0.004;
      const bool is_done = shares_s < (1 + kNextToNothing) * even_s * n_gpus &&
                           attempt.time_s * n_gpus < (1 + kNextToNothing) * attempt.gpu_s;
      if (attempt.time_s < best.time_s) {
        attempt.packs = composer.packs();
        best = std::move(attempt);
      }
      if (is_done) return best;
    }
  }
  return best;
}

}  // namespace packsim
