#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "tests/packing/hand_packing.hpp"

/// The packers once more, in the plainest form that could work: linear scans, no index. Slow, and easy to
/// check against the papers. All lengths here are in 1..capacity.
namespace packsim::testing {

using Lengths = std::vector<std::int32_t>;

/// Lengths with a long tail, as fine-tuning data have: 40 / u^0.8 with u uniform, so that most are around a
/// hundred tokens and one in a thousand is above 10 000 (cut off at `longest_tokens`).
inline Lengths heavy_tailed_lengths(std::size_t n, std::uint32_t seed, std::int32_t longest_tokens) {
  std::mt19937 generator(seed);
  Lengths lengths(n);
  for (std::int32_t& length : lengths) {
    const double u = (static_cast<double>(generator()) + 1.0) / 4294967297.0;
    length =
        static_cast<std::int32_t>(std::min(40.0 / std::pow(u, 0.8), static_cast<double>(longest_tokens)));
  }
  return lengths;
}

/// numpy.random.RandomState(seed).shuffle(list(range(n))).
inline std::vector<ItemIndex> naive_shuffled(std::size_t n, std::uint32_t seed) {
  std::vector<ItemIndex> order(n);
  std::iota(order.begin(), order.end(), ItemIndex{0});
  std::mt19937 generator(seed);
  for (std::size_t i = n; i-- > 1;) {
    std::size_t mask = 1;
    while (mask <= i) mask *= 2;
    std::size_t j = 0;
    do {
      j = generator() & (mask - 1);
    } while (j > i);
    std::swap(order[i], order[j]);
  }
  return order;
}

inline std::vector<ItemIndex> naive_longest_first(const Lengths& lengths) {
  std::vector<ItemIndex> order(lengths.size());
  std::iota(order.begin(), order.end(), ItemIndex{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](ItemIndex i) { return lengths[i]; });
  return order;
}

inline Packs naive_first_fit(const Lengths& lengths, const std::vector<ItemIndex>& order,
                             std::int64_t capacity) {
  Packs packs;
  std::vector<std::int64_t> room;
  for (const ItemIndex item : order) {
    std::size_t p = 0;
    while (p < packs.size() && room[p] < lengths[item]) ++p;
    if (p == packs.size()) {
      packs.emplace_back();
      room.push_back(capacity);
    }
    packs[p].push_back(item);
    room[p] -= lengths[item];
  }
  return packs;
}

/// Ties go to the pack that has had its room for longest.
inline Packs naive_best_fit(const Lengths& lengths, const std::vector<ItemIndex>& order,
                            std::int64_t capacity) {
  Packs packs;
  std::vector<std::pair<std::int64_t, std::size_t>> room_since;  // (room, step at which it became that)
  std::size_t step = 0;
  for (const ItemIndex item : order) {
    ++step;
    std::size_t best = packs.size();
    for (std::size_t p = 0; p < packs.size(); ++p) {
      if (room_since[p].first < lengths[item]) continue;
      if (best == packs.size() || room_since[p] < room_since[best]) best = p;
    }
    if (best == packs.size()) {
      packs.emplace_back();
      room_since.emplace_back(capacity, step);
    }
    packs[best].push_back(item);
    room_since[best] = {room_since[best].first - lengths[item], step};
  }
  return packs;
}

/// OmniBal: next-fit of a shuffled pool; packs under the threshold go back into the pool.
inline Packs naive_isf(const Lengths& lengths, std::int64_t capacity, std::int64_t threshold, int rounds,
                       std::uint32_t seed) {
  const auto next_fit = [&](const std::vector<ItemIndex>& pool) {
    Packs packs;
    std::int64_t room = -1;
    for (const ItemIndex item : pool) {
      if (lengths[item] > room) {
        packs.emplace_back();
        room = capacity;
      }
      packs.back().push_back(item);
      room -= lengths[item];
    }
    return packs;
  };
  std::vector<ItemIndex> pool = naive_shuffled(lengths.size(), seed);
  Packs kept;
  for (int round = 0; round + 1 < rounds; ++round) {
    std::vector<ItemIndex> rest;
    for (const auto& pack : next_fit(pool)) {
      std::int64_t tokens = 0;
      for (const ItemIndex item : pack) tokens += lengths[item];
      if (tokens >= threshold) {
        kept.push_back(pack);
      } else {
        rest.insert(rest.end(), pack.begin(), pack.end());
      }
    }
    pool.clear();
    for (const ItemIndex i : naive_shuffled(rest.size(), seed + static_cast<std::uint32_t>(round))) {
      pool.push_back(rest[i]);
    }
  }
  for (const auto& pack : next_fit(pool)) kept.push_back(pack);
  return kept;
}

/// HBP algorithm 6, line by line: for g in packs, for D in D_(i-1)..D_1, for x in D: if x fits into g, move
/// it.
inline void naive_greedy_fill(const Lengths& lengths, std::int64_t capacity, Packs& packs,
                              std::vector<std::vector<ItemIndex>>& smaller_nearest_first) {
  for (auto& pack : packs) {
    for (auto& group : smaller_nearest_first) {
      for (std::size_t x = 0; x < group.size();) {
        std::int64_t tokens = lengths[group[x]];
        for (const ItemIndex item : pack) tokens += lengths[item];
        if (tokens <= capacity) {
          pack.push_back(group[x]);
          group.erase(group.begin() + static_cast<std::ptrdiff_t>(x));
        } else {
          ++x;
        }
      }
    }
  }
}

/// How many packs there are of each composition (lengths, longest first).
using PackCensus = std::map<std::vector<std::int32_t>, std::int64_t>;

/// Krell et al. on a histogram. Open compositions are kept by room, the newest last; one that has no room or
/// `max_per_pack` samples is closed.
class NaiveHistogramPacker {
 public:
  NaiveHistogramPacker(const Lengths& lengths, std::int64_t capacity, std::size_t max_per_pack)
      : capacity_(capacity), max_per_pack_(max_per_pack) {
    for (const std::int32_t length : lengths) ++histogram_[length];
  }

  /// One sample a pack, most room first, never going back up; what is left opens a pack a sample.
  PackCensus shortest_pack_first() {
    for (auto it = histogram_.rbegin(); it != histogram_.rend(); ++it) {
      std::int64_t left = it->second;
      for (std::int64_t room = capacity_; room >= it->first && left > 0; --room) {
        while (left > 0 && !open_[room].empty()) left -= extend(room, it->first, 1, left);
      }
      if (left > 0) add({it->first}, left);
    }
    return census_of_all();
  }

  /// Least room first, starting again after every step, with as many copies of the length as fit.
  PackCensus longest_pack_first() {
    for (auto it = histogram_.rbegin(); it != histogram_.rend(); ++it) {
      const std::int64_t length = it->first;
      std::int64_t left = it->second;
      while (left > 0) {
        std::int64_t room = length;
        while (room < capacity_ && open_[room].empty()) ++room;
        if (room < capacity_) {
          const auto samples = static_cast<std::int64_t>(max_per_pack_ - open_[room].back().first.size());
          left -= extend(room, it->first, std::min({room / length, samples, left}), left);
        } else {
          const std::int64_t copies =
              std::min({capacity_ / length, static_cast<std::int64_t>(max_per_pack_), left});
          add(Lengths(static_cast<std::size_t>(copies), it->first), left / copies);
          left -= left / copies * copies;
        }
      }
    }
    return census_of_all();
  }

 private:
  std::int64_t extend(std::int64_t room, std::int32_t length, std::int64_t copies, std::int64_t left) {
    auto& [lengths, count] = open_[room].back();
    Lengths longer = lengths;
    longer.insert(longer.end(), static_cast<std::size_t>(copies), length);
    const std::int64_t n_packs = std::min(count, left / copies);
    count -= n_packs;
    if (count == 0) open_[room].pop_back();
    add(longer, n_packs);
    return n_packs * copies;
  }

  void add(const Lengths& lengths, std::int64_t count) {
    const std::int64_t room = capacity_ - std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    if (room == 0 || lengths.size() == max_per_pack_) {
      census_[lengths] += count;
    } else {
      open_[room].emplace_back(lengths, count);
    }
  }

  PackCensus census_of_all() {
    for (const auto& [room, packs] : open_) {
      for (const auto& [lengths, count] : packs) census_[lengths] += count;
    }
    return census_;
  }

  std::int64_t capacity_;
  std::size_t max_per_pack_;
  std::map<std::int32_t, std::int64_t> histogram_;
  std::map<std::int64_t, std::vector<std::pair<Lengths, std::int64_t>>> open_;
  PackCensus census_;
};

/// The fewest packs that hold all lengths, by trying every subset as the next pack. For a dozen samples at
/// most.
inline int fewest_packs(const Lengths& lengths, std::int64_t capacity) {
  const std::size_t n_sets = std::size_t{1} << lengths.size();
  std::vector<std::int64_t> tokens(n_sets, 0);
  std::vector<int> fewest(n_sets, 0);
  for (std::size_t set = 1; set < n_sets; ++set) {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(set));
    tokens[set] = tokens[set & (set - 1)] + lengths[lowest];
    fewest[set] = std::popcount(set);
    for (std::size_t pack = set; pack > 0; pack = (pack - 1) & set) {
      if (tokens[pack] <= capacity) fewest[set] = std::min(fewest[set], fewest[set ^ pack] + 1);
    }
  }
  return fewest.back();
}

}  // namespace packsim::testing
