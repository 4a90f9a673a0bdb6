// Packs that hold a second limit beside tokens: the rule that fills them, against a scan over all samples,
// and how few packs there are, against all ways to pack few samples and against bounds for many.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "packing/pack.hpp"
#include "tests/packing/naive_packers.hpp"

using namespace packsim;
using packsim::testing::heavy_tailed_lengths;
using packsim::testing::Lengths;
using packsim::testing::Packs;

namespace {

struct TwoSizes {
  Lengths tokens, extra;
  std::int64_t capacity = 0, extra_capacity = 0;
};

Packing packed(std::string_view strategy, const TwoSizes& sizes) {
  return pack(strategy, {.lengths_tokens = sizes.tokens,
                         .capacities_tokens = {sizes.capacity},
                         .extra_sizes = sizes.extra,
                         .extra_capacity = sizes.extra_capacity});
}

Packs packs_of(const Packing& packing) {
  Packs packs;
  for (std::size_t p = 0; p < packing.groups[0].n_packs(); ++p)
    packs.emplace_back(packing.groups[0][p].begin(), packing.groups[0][p].end());
  return packs;
}

std::int32_t drawn(std::mt19937& generator, std::int32_t least, std::int32_t most) {
  return least + static_cast<std::int32_t>(generator() % static_cast<std::uint32_t>(most - least + 1));
}

TwoSizes drawn_sizes(std::size_t n, std::uint32_t seed, TwoSizes limits, std::int32_t most_tokens,
                     std::int32_t most_extra) {
  std::mt19937 generator(seed);
  for (std::size_t i = 0; i < n; ++i) {
    limits.tokens.push_back(drawn(generator, 1, most_tokens));
    limits.extra.push_back(drawn(generator, 0, most_extra));
  }
  return limits;
}

// Pack after pack, the sample of the highest score among all that are left and fit: w and v are what the
// limits count, a and b the sample's shares of a pack, q and p the room before it.
Packs filled_by_scan(const TwoSizes& s, double departure_cost) {
  std::vector<bool> is_packed(s.tokens.size(), false);
  const auto capacity = static_cast<double>(s.capacity);
  const auto extra_capacity = static_cast<double>(s.extra_capacity);
  std::int64_t tokens_left = std::accumulate(s.tokens.begin(), s.tokens.end(), std::int64_t{0});
  std::int64_t extra_left = std::accumulate(s.extra.begin(), s.extra.end(), std::int64_t{0});
  Packs packs;
  for (std::size_t n_left = s.tokens.size(); n_left > 0;) {
    std::int64_t tokens = s.capacity;
    std::int64_t extra = s.extra_capacity;
    packs.emplace_back();
    while (true) {
      const double of_tokens = std::pow(static_cast<double>(tokens_left) / capacity, 2);
      const double of_extra = std::pow(static_cast<double>(extra_left) / extra_capacity, 2);
      const double w = of_tokens / (of_tokens + of_extra);
      const double v = 1 - w;
      const double q = static_cast<double>(tokens) / capacity;
      const double p = static_cast<double>(extra) / extra_capacity;
      std::size_t best = s.tokens.size();
      double best_score = 0;
      for (std::size_t i = 0; i < s.tokens.size(); ++i) {
        if (is_packed[i] || s.tokens[i] > tokens || s.extra[i] > extra) continue;
        const double a = s.tokens[i] / capacity;
        const double b = s.extra[i] / extra_capacity;
        const double score = w * q * a + v * p * b - departure_cost * std::abs(v * (q - a) - w * (p - b));
        if (best == s.tokens.size() || score > best_score + 1e-12) {
          best = i;
          best_score = score;
        }
      }
      if (best == s.tokens.size()) break;
      packs.back().push_back(static_cast<ItemIndex>(best));
      is_packed[best] = true;
      tokens -= s.tokens[best];
      extra -= s.extra[best];
      tokens_left -= s.tokens[best];
      extra_left -= s.extra[best];
      --n_left;
    }
  }
  return packs;
}

// The fewest packs that any division has: each sample into each pack with room, or a new one.
std::size_t fewest_packs(const TwoSizes& s, std::size_t item, std::vector<std::pair<int, int>>& packs,
                         std::size_t best) {
  if (packs.size() >= best) return best;
  if (item == s.tokens.size()) return packs.size();
  for (std::size_t p = 0; p < packs.size(); ++p) {
    if (packs[p].first + s.tokens[item] > s.capacity || packs[p].second + s.extra[item] > s.extra_capacity)
      continue;
    packs[p].first += s.tokens[item];
    packs[p].second += s.extra[item];
    best = fewest_packs(s, item + 1, packs, best);
    packs[p].first -= s.tokens[item];
    packs[p].second -= s.extra[item];
  }
  packs.emplace_back(s.tokens[item], s.extra[item]);
  best = fewest_packs(s, item + 1, packs, best);
  packs.pop_back();
  return best;
}

std::int64_t bound(const TwoSizes& s) {
  const auto needed = [](const Lengths& sizes, std::int64_t capacity) {
    return (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) + capacity - 1) / capacity;
  };
  return std::max(needed(s.tokens, s.capacity), needed(s.extra, s.extra_capacity));
}

double percent_above_bound(std::string_view strategy, const TwoSizes& s) {
  return 100 * (static_cast<double>(packed(strategy, s).n_packs()) / static_cast<double>(bound(s)) - 1);
}

}  // namespace

TEST_CASE("ffd fills packs of two limits exactly as a scan over all samples does") {
  // Up to 63 samples: of more, packs may be repeated before limits are weighed again.
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const TwoSizes s = drawn_sizes(63, seed, {{}, {}, 1000, 24}, seed % 2 == 0 ? 400 : 1000, 1 + seed % 11);
    INFO("seed " << seed);
    CHECK(packs_of(packed("ffd", s)) == filled_by_scan(s, 0.25));
  }
}

TEST_CASE("of all ways to pack nine samples under two limits, bfd finds one of the best or the next") {
  std::size_t n_more = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const auto most_tokens = static_cast<std::int32_t>(4 + seed % 9);
    const TwoSizes s = drawn_sizes(9, seed, {{}, {}, 12, 10}, most_tokens, 1 + seed % 8);
    std::vector<std::pair<int, int>> packs;
    const std::size_t fewest = fewest_packs(s, 0, packs, s.tokens.size() + 1);
    const std::size_t found = packed("bfd", s).n_packs();
    INFO("seed " << seed);
    CHECK(found >= fewest);
    CHECK(found <= fewest + 1);
    n_more += found - fewest;
  }
  CHECK(n_more <= 11);  // of 400
}

TEST_CASE("bfd needs few more packs than the sums of both sizes") {
  std::mt19937 generator(1);
  TwoSizes images{heavy_tailed_lengths(20000, 3, 1000), {}, 4096, 0};
  std::int64_t n_tokens = 0;
  std::int64_t n_images = 0;
  for (const std::int32_t tokens : images.tokens) {
    images.extra.push_back(drawn(generator, 0, 3));
    n_tokens += tokens;
    n_images += images.extra.back();
  }
  images.extra_capacity = n_images * 4096 / n_tokens;  // so that packs can be full of both
  CHECK(percent_above_bound("bfd", images) < 1);

  const TwoSizes alike = drawn_sizes(20000, 2, {{}, {}, 4096, 128}, 1023, 31);
  CHECK(percent_above_bound("bfd", alike) < 1);
}

TEST_CASE("every sample is packed once and both limits hold, whatever the sizes are") {
  // Few sizes many times, so that patterns repeat; more extra sizes than there are classes; and no sizes at
  // all.
  const std::vector<TwoSizes> cases = {drawn_sizes(6000, 1, {{}, {}, 64, 5}, 4, 2),
                                       drawn_sizes(3000, 2, {{}, {}, 500, 900}, 200, 700),
                                       {Lengths(500, 0), Lengths(500, 0), 10, 3},
                                       {Lengths(100, 0), Lengths(100, 2), 10, 3}};
  for (const TwoSizes& s : cases) {
    for (const char* strategy : {"isf", "ffd", "bfd", "bfs"}) {
      for (const std::int64_t most_samples : {0, 3}) {
        PackRequest request{.lengths_tokens = s.tokens,
                            .capacities_tokens = {s.capacity},
                            .empty = Empty::keep,
                            .extra_sizes = s.extra,
                            .extra_capacity = s.extra_capacity};
        request.options.set("max_samples_per_pack", most_samples);
        INFO(strategy << ", samples " << s.tokens.size() << ", at most " << most_samples);
        std::vector<int> n_times(s.tokens.size(), 0);
        bool holds = true;
        for (const auto& items : packs_of(pack(strategy, request))) {
          std::int64_t tokens = 0;
          std::int64_t extra = 0;
          for (const ItemIndex item : items) {
            ++n_times[item];
            tokens += s.tokens[item];
            extra += s.extra[item];
          }
          holds = holds && tokens <= s.capacity && extra <= s.extra_capacity;
          holds = holds && (most_samples == 0 || std::ssize(items) <= most_samples);
        }
        CHECK(holds);
        CHECK(std::ranges::all_of(n_times, [](int n) { return n == 1; }));
      }
    }
  }
  // 100 samples of 2 images, 3 images a pack: one a pack.
  CHECK(packed("bfd", {Lengths(100, 1), Lengths(100, 2), 10, 3}).n_packs() == 100);
}

TEST_CASE("isf keeps packs that are full of images, and dissolves others") {
  // In order: 0 and 1 fill the images of a pack, which is kept. 2 and 3 fit together, 4 does not: with one
  // round more, 2 and 3 would be dissolved, but nothing else joins them in the same order.
  const TwoSizes s{{1, 1, 1, 1, 1}, {2, 2, 1, 1, 3}, 10, 4};
  PackRequest request{
      .lengths_tokens = s.tokens, .capacities_tokens = {10}, .extra_sizes = s.extra, .extra_capacity = 4};
  request.options.set("shuffle", false);
  request.options.set("threshold_tokens", 10);
  CHECK(packs_of(pack("isf", request)) == Packs{{0, 1}, {2, 3}, {4}});
  // With 3 of 4 images as full, {4} is kept in the first round, before {2, 3}.
  request.options.set("threshold_tokens", 7);
  CHECK(packs_of(pack("isf", request)) == Packs{{0, 1}, {4}, {2, 3}});
}
