#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "packing/pack.hpp"
#include "tests/packing/naive_packers.hpp"

using namespace packsim;
using packsim::testing::heavy_tailed_lengths;
using packsim::testing::Lengths;
using packsim::testing::naive_longest_first;
using packsim::testing::naive_shuffled;
using packsim::testing::Packs;

namespace {

std::string refusal_of(std::string_view strategy, const PackRequest& request) {
  try {
    pack(strategy, request);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

Packs packs_in(const Packing& packing) {
  Packs packs;
  for (std::size_t p = 0; p < packing.groups[0].n_packs(); ++p) {
    const auto items = packing.groups[0][p];
    packs.emplace_back(items.begin(), items.end());
  }
  return packs;
}

Lengths sizes_up_to(std::size_t n, std::int32_t most, std::uint32_t seed) {
  std::mt19937 generator(seed);
  Lengths sizes(n);
  for (std::int32_t& size : sizes)
    size = static_cast<std::int32_t>(generator() % static_cast<std::uint32_t>(most + 1));
  return sizes;
}

struct Scan {
  Lengths lengths, extra;
  std::int64_t capacity = 0, extra_capacity = 0;
  std::size_t most_items = ~std::size_t{0};
  bool best_fit = false;
};

// A scan over all packs: the first with room for both, or the one with least room in tokens and, of those,
// the most extra room and the newest.
Packs scan(const Scan& s, const std::vector<ItemIndex>& order) {
  Packs packs;
  std::vector<std::int64_t> room, extra_room;
  for (const ItemIndex item : order) {
    std::size_t chosen = packs.size();
    for (std::size_t p = 0; p < packs.size(); ++p) {
      if (room[p] < s.lengths[item] || extra_room[p] < s.extra[item] || packs[p].size() >= s.most_items)
        continue;
      const auto key = [&](std::size_t pack) {
        return std::tuple(room[pack], -extra_room[pack], -static_cast<std::int64_t>(pack));
      };
      if (chosen == packs.size() || (s.best_fit && key(p) < key(chosen))) chosen = p;
    }
    if (chosen == packs.size()) {
      packs.emplace_back();
      room.push_back(s.capacity);
      extra_room.push_back(s.extra_capacity);
    }
    packs[chosen].push_back(item);
    room[chosen] -= s.lengths[item];
    extra_room[chosen] -= s.extra[item];
  }
  return packs;
}

}  // namespace

TEST_CASE("bfd and ffd with a limit of samples pack exactly as a scan that knows it") {
  for (const std::uint32_t seed : {1U, 2U}) {
    for (const std::int64_t capacity : {300, 4096}) {
      for (const std::size_t limit : {1, 2, 3, 7, 100000}) {
        const Lengths lengths = heavy_tailed_lengths(800, seed, static_cast<std::int32_t>(capacity));
        PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {capacity}};
        request.options.set("max_samples_per_pack", static_cast<std::int64_t>(limit));
        const Scan s{lengths, Lengths(800, 0), capacity, 0, limit};
        INFO("seed " << seed << " capacity " << capacity << " limit " << limit);
        CHECK(packs_in(pack("ffd", request)) == scan(s, naive_longest_first(lengths)));
        // Ties of best fit go to the pack that came to its room first, which the scan does not follow: as
        // many.
        for (const char* strategy : {"bfd", "bfs", "ffs", "isf"}) {
          INFO(strategy);
          for (const auto& packed : packs_in(pack(strategy, request))) CHECK(packed.size() <= limit);
        }
      }
    }
  }
}

TEST_CASE("a limit of samples that binds gives no more packs than its bound and first fit's") {
  // 1 000 samples of 1..10 tokens, packs of 1 000: only the limit of 8 binds, so that all packs but one are
  // full.
  const Lengths lengths = [] {
    Lengths made = sizes_up_to(1000, 9, 3);
    for (std::int32_t& length : made) ++length;
    return made;
  }();
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {1000}};
  request.options.set("max_samples_per_pack", 8);
  for (const char* strategy : {"bfd", "ffd", "bfs", "ffs", "isf"}) {
    INFO(strategy);
    CHECK(pack(strategy, request).n_packs() == 125);
  }
}

TEST_CASE("bfs packs under two limits exactly as a scan over all packs does") {
  for (const std::uint32_t seed : {4U, 5U, 6U}) {
    for (const std::int64_t extra_capacity : {3, 8, 40}) {
      const Lengths lengths = heavy_tailed_lengths(800, seed, 2048);
      const Lengths extra = sizes_up_to(800, 3, seed);
      for (const std::size_t limit : {std::size_t{0}, std::size_t{4}}) {
        PackRequest request{.lengths_tokens = lengths,
                            .capacities_tokens = {2048},
                            .extra_sizes = extra,
                            .extra_capacity = extra_capacity};
        request.options.set("max_samples_per_pack", static_cast<std::int64_t>(limit));
        Scan s{lengths, extra, 2048, extra_capacity, limit == 0 ? ~std::size_t{0} : limit};
        INFO("seed " << seed << " extra capacity " << extra_capacity << " limit " << limit);
        s.best_fit = true;
        CHECK(packs_in(pack("bfs", request)) == scan(s, naive_shuffled(lengths.size(), 1024)));
      }
    }
  }
}

TEST_CASE("windows, own packs and empty samples keep both limits") {
  const Lengths lengths = [] {
    Lengths made = heavy_tailed_lengths(1000, 9, 5000);
    for (std::size_t i = 0; i < made.size(); i += 50) made[i] = 0;
    return made;
  }();
  const Lengths extra = sizes_up_to(1000, 4, 10);
  for (const char* strategy : {"isf", "ffd", "bfd", "bfs"}) {
    INFO(strategy);
    const PackRequest request{.lengths_tokens = lengths,
                              .capacities_tokens = {2048},
                              .over_long = OverLong::own_pack,
                              .empty = Empty::keep,
                              .window_samples = 300,
                              .extra_sizes = extra,
                              .extra_capacity = 6};
    const Packing packing = pack(strategy, request);
    std::set<ItemIndex> seen;
    for (const auto& packed : packs_in(packing)) {
      std::int64_t sizes = 0;
      for (const ItemIndex item : packed) {
        seen.insert(item);
        sizes += extra[item];
        CHECK(item / 300 == packed[0] / 300);
      }
      CHECK(sizes <= 6);
    }
    CHECK(seen.size() == lengths.size());
    CHECK(packing.counts.own_pack_samples == std::ranges::count_if(lengths, [](int n) { return n > 2048; }));
  }
}

TEST_CASE("groups stay together, in order, whatever packs them") {
  std::mt19937 generator(11);
  const Lengths lengths = heavy_tailed_lengths(2000, 12, 1200);
  std::vector<std::int64_t> group_of(2000);
  for (std::int64_t& group : group_of) group = static_cast<std::int64_t>(generator() % 900) - 450;
  std::map<std::int64_t, std::vector<ItemIndex>> members;
  std::map<std::int64_t, std::int64_t> tokens;
  for (ItemIndex i = 0; i < 2000; ++i) {
    members[group_of[i]].push_back(i);
    tokens[group_of[i]] += lengths[i];
  }
  std::int64_t dropped = 0;
  for (const auto& [group, sum] : tokens)
    dropped += sum > 4096 ? static_cast<std::int64_t>(members[group].size()) : 0;
  for (const Strategy& strategy : strategies()) {
    if (strategy.pack == nullptr || strategy.layout != Layout::packed || strategy.cuts_samples) continue;
    INFO(strategy.name);
    const Packing packing = pack(strategy.name, {.lengths_tokens = lengths,
                                                 .capacities_tokens = {4096},
                                                 .over_long = OverLong::drop,
                                                 .group_of = group_of});
    std::int64_t n_packed = 0;
    bool whole = true;
    bool within = true;
    for (const auto& packed : packs_in(packing)) {
      n_packed += static_cast<std::int64_t>(packed.size());
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < packed.size();) {
        const std::vector<ItemIndex>& group = members[group_of[packed[i]]];
        for (const ItemIndex member : group) {
          whole = whole && i < packed.size() && packed[i] == member;
          sum += lengths[member];
          ++i;
        }
      }
      within = within && sum <= 4096;
    }
    CHECK(whole);
    CHECK(within);
    CHECK(packing.counts.dropped_samples == dropped);
    CHECK(n_packed + dropped == 2000);
  }
}

TEST_CASE("groups of one sample are no groups") {
  const Lengths lengths = heavy_tailed_lengths(500, 13, 2048);
  std::vector<std::int64_t> group_of(500);
  std::iota(group_of.begin(), group_of.end(), std::int64_t{7});
  const PackRequest alone{.lengths_tokens = lengths, .capacities_tokens = {2048}};
  PackRequest grouped = alone;
  grouped.group_of = group_of;
  for (const char* strategy : {"bfd", "ffd", "isf", "lpfhp"})
    CHECK(packs_in(pack(strategy, alone)) == packs_in(pack(strategy, grouped)));
}

TEST_CASE("the extra sizes of a group count together") {
  // Pairs of 2 + 2 images, packs of 4: one pair each, though all tokens would fit one pack.
  const Lengths lengths = {1, 1, 1, 1};
  const Lengths extra = {2, 2, 2, 2};
  const std::vector<std::int64_t> group_of = {1, 2, 1, 2};
  const Packing packing = pack("bfd", {.lengths_tokens = lengths,
                                       .capacities_tokens = {10},
                                       .extra_sizes = extra,
                                       .extra_capacity = 4,
                                       .group_of = group_of});
  CHECK(packs_in(packing) == Packs{{0, 2}, {1, 3}});
}

TEST_CASE("limits and groups that cannot be held are refused with the reason") {
  const Lengths lengths = {5, 3, 2};
  const Lengths extra = {1, 9, 2};
  const Lengths few = {1};
  const std::vector<std::int64_t> group_of = {4, 4, 5};
  const std::vector<std::int64_t> few_groups = {4};
  const PackRequest plain{.lengths_tokens = lengths, .capacities_tokens = {7}};
  PackRequest request = plain;
  request.extra_sizes = extra;
  CHECK(refusal_of("bfd", request) == "extra_capacity: expected 1..2147483647, got 0");
  request.extra_capacity = 4;
  CHECK(refusal_of("bfd", request) ==
        "extra_sizes: expected sizes of 0..4 (extra_capacity), got 1 that are not: sample 1 has 9");
  CHECK(refusal_of("ffs", request) == "extra_sizes: expected none for ffs; isf, ffd, bfd, bfs take them");
  request.extra_sizes = few;
  CHECK(refusal_of("bfd", request) == "extra_sizes: expected one for each of 3 samples, got 1");
  request.extra_sizes = extra;
  request.over_long = OverLong::split;
  CHECK(refusal_of("bfd", request) ==
        "over_long: expected error, drop or own_pack beside extra_sizes, as a part of a sample has no size");

  request = plain;
  request.group_of = few_groups;
  CHECK(refusal_of("bfd", request) == "group_of: expected one for each of 3 samples, got 1");
  request.group_of = group_of;
  CHECK(
      refusal_of("bfd", request) ==
      "group_of: expected groups of at most 7 tokens (or over_long drop), got 1 that are not: group 4 has 8");
  CHECK(refusal_of("wrapped", request) ==
        "group_of: expected none for wrapped, which does not pack whole samples into one row");
  request.over_long = OverLong::own_pack;
  CHECK(refusal_of("bfd", request) ==
        "over_long: expected error or drop beside group_of, as a group is neither cut nor split");
  request.over_long = OverLong::drop;
  request.options.set("max_samples_per_pack", 2);
  CHECK(
      refusal_of("bfd", request) ==
      "max_samples_per_pack: expected none beside group_of; extra_sizes of 1 and an extra_capacity limit the "
      "samples of a pack");
  request.options = {};
  request.longest_tokens = 6;
  CHECK(refusal_of("bfd", request) == "longest_tokens: expected the pack length beside group_of");
  request.longest_tokens = 0;
  const Lengths with_empty = {5, 0, 2};
  request.lengths_tokens = with_empty;
  CHECK(refusal_of("bfd", request) ==
        "lengths_tokens: expected lengths of at least 1 beside group_of (or empty keep), so that groups stay "
        "whole");
  request = plain;
  request.capacities_tokens = {8};
  request.group_of = group_of;
  const Lengths small = {1, 1, 1};
  request.extra_sizes = small;
  request.extra_capacity = 1;
  CHECK(refusal_of("bfd", request) ==
        "group_of: expected groups of at most 1 in extra sizes, got 1 that are not: group 4 has 2");
}
