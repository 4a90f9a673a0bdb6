#include "packing/planner/compose_iteration.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

namespace packsim {
namespace {

// A block of neighbouring GPUs of some degree, and what it trains.
struct Block {
  std::vector<ItemIndex> items;
  std::vector<std::vector<ItemIndex>> packs;
  std::vector<double> pack_s;
  double time_s = 0;
};

class Composer {
 public:
  Composer(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens, int n_gpus)
      : costs_(costs), lengths_(lengths_tokens), n_gpus_(n_gpus) {
    for (std::size_t d = 0; d < costs.n_degrees(); ++d)
      blocks_.emplace_back(static_cast<std::size_t>(n_gpus / costs.gpus_per_pack(d)));
  }

  // goal_s: items that take longer at their cheapest degree get more GPUs, where that helps. Returns the GPU
  // time of all shares.
  // relieves: see relieve_busiest(), which costs GPU time.
  double place(std::span<const ItemIndex> items, double goal_s, bool relieves) {
    double shares_s = 0;
    std::vector<std::vector<std::pair<double, ItemIndex>>> by_degree(costs_.n_degrees());
    for (const ItemIndex item : items) {
      const std::size_t degree = cheapest_degree(costs_, lengths_[item], goal_s);
      by_degree[degree].emplace_back(costs_.share_s(degree, lengths_[item]), item);
      shares_s += costs_.gpus_per_pack(degree) * by_degree[degree].back().first;
    }
    std::vector<double> loads(static_cast<std::size_t>(n_gpus_));
    for (std::size_t d = by_degree.size(); d-- > 0;) {
      std::ranges::sort(by_degree[d], [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
      });
      place_degree(d, by_degree[d], loads);
    }
    for (int pass = 0; pass < 3; ++pass) {
      for (std::size_t d = blocks_.size(); d-- > 0;) even_out(d);
      if (relieves) relieve_busiest();
    }
    for (std::size_t d = 0; d < blocks_.size(); ++d) {
      for (Block& block : blocks_[d]) pack(d, block);
    }
    return shares_s;
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

  ComposedIteration result() const {
    ComposedIteration iteration;
    std::vector<int> rounds(static_cast<std::size_t>(n_gpus_));
    std::vector<double> loads(static_cast<std::size_t>(n_gpus_));
    for (std::size_t d = blocks_.size(); d-- > 0;) {
      const int gpus = costs_.gpus_per_pack(d);
      for (std::size_t b = 0; b < blocks_[d].size(); ++b) {
        const Block& block = blocks_[d][b];
        const int first_gpu = static_cast<int>(b) * gpus;
        for (std::size_t p = 0; p < block.packs.size(); ++p) {
          const auto first = static_cast<std::size_t>(first_gpu);
          iteration.packs.push_back({d, first_gpu, rounds[first], block.pack_s[p], block.packs[p]});
          for (std::size_t gpu = first; gpu < first + static_cast<std::size_t>(gpus); ++gpu) {
            ++rounds[gpu];
            loads[gpu] += block.pack_s[p];
          }
        }
      }
    }
    std::ranges::stable_sort(iteration.packs, {}, &ComposedPack::round);
    iteration.time_s = *std::ranges::max_element(loads);
    iteration.gpu_s = std::accumulate(loads.begin(), loads.end(), 0.0);
    return iteration;
  }

 private:
  // Longest first, to the block whose last GPU is free first.
  void place_degree(std::size_t degree, std::span<const std::pair<double, ItemIndex>> items,
                    std::vector<double>& loads) {
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
        for (const ItemIndex item : blocks_[d][b].items) time_s += costs_.share_s(d, lengths_[item]);
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

  // Items of a degree, one for another or for nothing, between the blocks with most and with least to do, as
  // long as that brings the two nearer to each other.
  void even_out(std::size_t degree) {
    std::vector<Block>& blocks = blocks_[degree];
    const bool is_empty = std::ranges::all_of(blocks, [](const Block& block) { return block.items.empty(); });
    if (blocks.size() < 2 || is_empty) return;
    std::vector<double> loads = mean_loads(degree);
    for (std::size_t moves = 0; moves < 8 * blocks.size(); ++moves) {
      const auto most = static_cast<std::size_t>(std::ranges::max_element(loads) - loads.begin());
      const auto least = static_cast<std::size_t>(std::ranges::min_element(loads) - loads.begin());
      const double apart_s = loads[most] - loads[least];
      if (apart_s < 1e-3 * loads[most]) return;
      std::vector<ItemIndex>& from = blocks[most].items;
      std::vector<ItemIndex>& to = blocks[least].items;
      double best_off_s = apart_s / 2;
      std::size_t give = from.size();
      std::size_t take = to.size();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const double give_s = costs_.share_s(degree, lengths_[from[i]]);
        for (std::size_t j = 0; j <= to.size(); ++j) {
          const double moved_s = give_s - (j < to.size() ? costs_.share_s(degree, lengths_[to[j]]) : 0);
          const double off_s = std::abs(moved_s - apart_s / 2);
          if (off_s >= best_off_s * (1 - 1e-9)) continue;
          best_off_s = off_s;
          give = i;
          take = j;
        }
      }
      if (give == from.size()) return;
      const double moved_s = costs_.share_s(degree, lengths_[from[give]]) -
                             (take < to.size() ? costs_.share_s(degree, lengths_[to[take]]) : 0);
      const ItemIndex given = from[give];
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
        for (const ItemIndex item : blocks_[d][b].items) time_s += costs_.share_s(d, lengths_[item]);
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
  void relieve_busiest() {
    std::vector<double> loads = gpu_loads();
    for (int moves = 0; moves < 4 * n_gpus_; ++moves) {
      const auto busiest = std::ranges::max_element(loads);
      const auto gpu = static_cast<std::size_t>(busiest - loads.begin());
      Move best{.busiest_s = *busiest * (1 - 1e-6)};
      for (std::size_t d = 0; d < blocks_.size(); ++d) {
        const std::size_t b = gpu / static_cast<std::size_t>(costs_.gpus_per_pack(d));
        for (std::size_t i = 0; i < blocks_[d][b].items.size(); ++i) consider({d, b, i}, loads, best);
      }
      if (best.to_degree >= blocks_.size()) return;
      std::vector<ItemIndex>& from = blocks_[best.from.degree][best.from.block].items;
      const ItemIndex item = from[best.from.position];
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(best.from.position));
      blocks_[best.to_degree][best.to_block].items.push_back(item);
      for (double& load : gpus_of(loads, best.from.degree, best.from.block))
        load -= costs_.share_s(best.from.degree, lengths_[item]);
      for (double& load : gpus_of(loads, best.to_degree, best.to_block))
        load += costs_.share_s(best.to_degree, lengths_[item]);
    }
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
    const std::int32_t length = lengths_[blocks_[from.degree][from.block].items[from.position]];
    const double own_s = costs_.share_s(from.degree, length);
    for (double& load : gpus_of(loads, from.degree, from.block)) load -= own_s;
    const double left_s = std::ranges::max(gpus_of(loads, from.degree, from.block));
    for (std::size_t d = 0; left_s < best.busiest_s && d < blocks_.size(); ++d) {
      const double time_s = costs_.share_s(d, length);
      if (time_s >= best.busiest_s) continue;
      for (std::size_t b = 0; b < blocks_[d].size(); ++b) {
        if (d == from.degree && b == from.block) continue;
        const double busiest_s = std::max(left_s, std::ranges::max(gpus_of(loads, d, b)) + time_s);
        if (busiest_s < best.busiest_s) best = {from, d, b, busiest_s};
      }
    }
    for (double& load : gpus_of(loads, from.degree, from.block)) load += own_s;
  }

  // Into so many packs, longest first, to the pack with the fewest tokens. Nothing where one gets too long.
  bool split(std::size_t degree, std::span<const ItemIndex> items, std::size_t n_packs, Block& block) const {
    block.packs.assign(n_packs, {});
    block.pack_s.clear();
    block.time_s = 0;
    tokens_.assign(n_packs, 0);
    for (const ItemIndex item : items) {
      const auto emptiest = static_cast<std::size_t>(std::ranges::min_element(tokens_) - tokens_.begin());
      block.packs[emptiest].push_back(item);
      tokens_[emptiest] += lengths_[item];
      if (tokens_[emptiest] > costs_.most_tokens(degree)) return false;
    }
    std::erase_if(block.packs, [](const auto& pack) { return pack.empty(); });
    for (const std::vector<ItemIndex>& pack : block.packs) {
      pack_lengths_.clear();
      for (const ItemIndex item : pack) pack_lengths_.push_back(lengths_[item]);
      block.pack_s.push_back(costs_.pack_s(degree, pack_lengths_));
      block.time_s += block.pack_s.back();
    }
    return true;
  }

  // The number of packs that takes least.
  void pack(std::size_t degree, Block& block) const {
    block.packs.clear();
    block.pack_s.clear();
    block.time_s = 0;
    if (block.items.empty()) return;
    std::ranges::sort(block.items, [&](ItemIndex a, ItemIndex b) {
      return lengths_[a] != lengths_[b] ? lengths_[a] > lengths_[b] : a < b;
    });
    std::int64_t tokens = 0;
    for (const ItemIndex item : block.items) tokens += lengths_[item];
    const std::int64_t best = costs_.best_tokens(degree);
    const auto middle = static_cast<std::size_t>((tokens + best - 1) / best);
    Block found;
    bool has_found = false;
    const std::size_t fewest = std::min(middle > 2 ? middle - 2 : 1, block.items.size());
    for (std::size_t n = fewest; n <= block.items.size(); ++n) {
      Block attempt;
      const bool fits = split(degree, block.items, n, attempt);
      if (fits && (!has_found || attempt.time_s < found.time_s)) {
        found = std::move(attempt);
        has_found = true;
      }
      if (has_found && n > middle) break;
    }
    block.packs = std::move(found.packs);
    block.pack_s = std::move(found.pack_s);
    block.time_s = found.time_s;
  }

  // Of the blocks of a degree, with all that other degrees have on their busiest GPU.
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

  // One item to the idlest block, or one against another; what levels the two best by their shares.
  bool exchange(std::size_t degree, std::size_t busiest, std::size_t idlest, std::vector<double>& loads) {
    Block& from = blocks_[degree][busiest];
    Block& to = blocks_[degree][idlest];
    const double wanted_s = (loads[busiest] - loads[idlest]) / 2;
    struct Swap {
      double off_s = 0;
      std::size_t give = 0;
      std::size_t take = 0;  // of to.items; their number: nothing
    };
    std::vector<Swap> swaps;
    for (std::size_t i = 0; i < from.items.size(); ++i) {
      const double give_s = costs_.share_s(degree, lengths_[from.items[i]]);
      for (std::size_t j = 0; j <= to.items.size(); ++j) {
        const double take_s = j < to.items.size() ? costs_.share_s(degree, lengths_[to.items[j]]) : 0;
        const double moved_s = give_s - take_s;
        if (moved_s > 0 && moved_s < 2 * wanted_s) swaps.push_back({std::abs(moved_s - wanted_s), i, j});
      }
    }
    constexpr std::size_t kTries = 4;
    const std::size_t n_tries = std::min(kTries, swaps.size());
    std::ranges::partial_sort(swaps, swaps.begin() + static_cast<std::ptrdiff_t>(n_tries),
                              [](const Swap& a, const Swap& b) {
                                return std::tie(a.off_s, a.give, a.take) < std::tie(b.off_s, b.give, b.take);
                              });
    for (const Swap& swap : std::span(swaps).first(n_tries)) {
      Block new_from;
      Block new_to;
      new_from.items = from.items;
      new_to.items = to.items;
      new_to.items.push_back(from.items[swap.give]);
      new_from.items.erase(new_from.items.begin() + static_cast<std::ptrdiff_t>(swap.give));
      if (swap.take < to.items.size()) {
        new_from.items.push_back(to.items[swap.take]);
        new_to.items.erase(new_to.items.begin() + static_cast<std::ptrdiff_t>(swap.take));
      }
      pack(degree, new_from);
      pack(degree, new_to);
      const double from_s = loads[busiest] - from.time_s + new_from.time_s;
      const double to_s = loads[idlest] - to.time_s + new_to.time_s;
      if (std::max(from_s, to_s) >= loads[busiest]) continue;
      from = std::move(new_from);
      to = std::move(new_to);
      loads[busiest] = from_s;
      loads[idlest] = to_s;
      return true;
    }
    return false;
  }

  const DegreeCosts& costs_;
  std::span<const std::int32_t> lengths_;
  int n_gpus_;
  std::vector<std::vector<Block>> blocks_;  // [n_degrees][n_gpus / SP degree]
  mutable std::vector<std::int64_t> tokens_;
  mutable std::vector<std::int32_t> pack_lengths_;
};

}  // namespace

ComposedIteration compose_iteration(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                                    std::span<const ItemIndex> items, int n_gpus) {
  const double even_s = even_time_s(costs, lengths_tokens, items, n_gpus);
  ComposedIteration best;
  best.time_s = std::numeric_limits<double>::infinity();
  // Items may take as long as the others together; a little less where they crowd, longer where they are
  // many.
  bool is_done = false;
  for (const double part : {1.0, 0.7, 1.5, 2.5, 5.0, 0.4, 0.2}) {
    for (const bool relieves : {false, true}) {
      if (is_done) break;
      Composer composer(costs, lengths_tokens, n_gpus);
      const double shares_s = composer.place(items, part * even_s, relieves);
      composer.level();
      ComposedIteration attempt = composer.result();
      // Next to nothing to be had from other degrees, and from levelling.
      constexpr double kNextToNothing = 0.004;
      is_done = shares_s < (1 + kNextToNothing) * even_s * n_gpus &&
                attempt.time_s * n_gpus < (1 + kNextToNothing) * attempt.gpu_s;
      if (attempt.time_s < best.time_s) best = std::move(attempt);
    }
  }
  return best;
}

}  // namespace packsim
