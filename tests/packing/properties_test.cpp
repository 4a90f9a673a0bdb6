// Promises that must hold on data of realistic shape, and the fast packers against plain ones.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "packing/algorithms/group_data.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "tests/packing/naive_packers.hpp"
#include "tests/packing/partition_check.hpp"

namespace packsim::testing {
namespace {

PackRequest request_for(const Lengths& lengths, std::int64_t capacity) {
  return {.lengths_tokens = lengths, .capacities_tokens = {capacity}};
}

Packs packs_with(std::string_view strategy, const PackRequest& request) {
  return packs_of(pack(strategy, request).groups[0]);
}

// First fit and best fit of either order.
void check_against_scans(const Lengths& lengths, std::int64_t capacity, std::uint32_t seed) {
  INFO("seed " << seed << " capacity " << capacity);
  PackRequest request = request_for(lengths, capacity);
  request.options.set("seed", seed);
  const auto longest_first = naive_longest_first(lengths);
  const auto shuffled = naive_shuffled(lengths.size(), seed);
  CHECK(packs_with("ffd", request) == naive_first_fit(lengths, longest_first, capacity));
  CHECK(packs_with("bfd", request) == naive_best_fit(lengths, longest_first, capacity));
  CHECK(packs_with("ffs", request) == naive_first_fit(lengths, shuffled, capacity));
  CHECK(packs_with("bfs", request) == naive_best_fit(lengths, shuffled, capacity));
}

}  // namespace

TEST_CASE("every strategy partitions heavy-tailed data under every over-long policy") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    for (const std::size_t n : {1000, 20000}) {
      Lengths lengths = heavy_tailed_lengths(n, seed, 60000);
      for (std::size_t i = 0; i < n; i += 97) lengths[i] = 0;
      for (const Strategy& strategy : strategies()) {
        if (strategy.forms_iterations()) continue;
        for (const auto& policy : kOverLongNames) {
          if (policy.value == OverLong::error) continue;
          if (policy.value == OverLong::own_pack && strategy.cuts_samples) continue;
          PackRequest request = request_for(lengths, 4096);
          if (strategy.pack_groups != nullptr) request.capacities_tokens = {512, 2048, 4096};
          request.over_long = policy.value;
          request.empty = seed == 2 ? Empty::keep : Empty::drop;
          request.options.set("seed", seed);
          INFO(strategy.name << " " << policy.name << " seed " << seed << " n " << n);
          CHECK(what_is_wrong(pack(strategy.name, request), request) == "");
        }
      }
    }
  }
}

TEST_CASE("samples of different windows never meet, and each window is packed like a data set of its own") {
  constexpr std::size_t kWindow = 700;
  const Lengths lengths = heavy_tailed_lengths(3000, 4, 9000);  // four windows and a rest of 200
  for (const Strategy& strategy : strategies()) {
    if (strategy.forms_iterations()) continue;
    INFO(strategy.name);
    PackRequest request = request_for(lengths, 4096);
    if (strategy.pack_groups != nullptr) request.capacities_tokens = {512, 4096};
    request.over_long = OverLong::split;
    request.window_samples = kWindow;
    const Packing packing = pack(strategy.name, request);
    CHECK(what_is_wrong(packing, request) == "");

    for (std::size_t group = 0; group < packing.groups.size(); ++group) {
      std::vector<std::vector<Piece>> in_windows;
      for (std::size_t begin = 0; begin < lengths.size(); begin += kWindow) {
        PackRequest alone = request;
        alone.window_samples = 0;
        alone.lengths_tokens =
            request.lengths_tokens.subspan(begin, std::min(kWindow, lengths.size() - begin));
        const Packing window = pack(strategy.name, alone);
        for (std::size_t p = 0; p < window.groups[group].n_packs(); ++p) {
          in_windows.emplace_back();
          for (const ItemIndex item : window.groups[group][p]) {
            Piece piece = window.piece(item);
            piece.sample_index += static_cast<std::uint32_t>(begin);
            in_windows.back().push_back(piece);
          }
        }
      }
      std::vector<std::vector<Piece>> together;
      for (std::size_t p = 0; p < packing.groups[group].n_packs(); ++p) {
        together.emplace_back();
        for (const ItemIndex item : packing.groups[group][p]) together.back().push_back(packing.piece(item));
      }
      CHECK((together == in_windows));
    }
  }
}

TEST_CASE("a window of the whole data set, or longer, is no window") {
  const Lengths lengths = heavy_tailed_lengths(1000, 5, 4096);
  for (const Strategy& strategy : strategies()) {
    if (strategy.forms_iterations()) continue;
    PackRequest request = request_for(lengths, 4096);
    const Packing whole = pack(strategy.name, request);
    for (const std::int64_t window : {1000, 1001, 1'000'000'000}) {
      request.window_samples = window;
      CHECK(packs_of(pack(strategy.name, request).groups[0]) == packs_of(whole.groups[0]));
    }
  }
}

TEST_CASE("the order of the data set does not change how well longest-first strategies pack") {
  Lengths lengths = heavy_tailed_lengths(5000, 6, 16384);
  for (const char* strategy : {"ffd", "bfd", "spfhp", "lpfhp"}) {
    INFO(strategy);
    const Packing packing = pack(strategy, request_for(lengths, 16384));
    Lengths shuffled = lengths;
    Generator generator(6);
    shuffle(std::span(shuffled), generator);
    // Not only the number of packs: the packs themselves hold the same lengths.
    CHECK((lengths_of(pack(strategy, request_for(shuffled, 16384))) == lengths_of(packing)));
  }
}

TEST_CASE("the same request gives the same packs, another seed others") {
  const Lengths lengths = heavy_tailed_lengths(2000, 7, 4096);
  for (const Strategy& strategy : strategies()) {
    if (strategy.forms_iterations()) continue;
    INFO(strategy.name);
    PackRequest request = request_for(lengths, 4096);
    const Packs packs = packs_with(strategy.name, request);
    CHECK(packs_with(strategy.name, request) == packs);
    request.options.set("seed", 1);
    const bool reads_seed = find_option(strategy, "seed") != nullptr;
    CHECK((packs_with(strategy.name, request) != packs) == reads_seed);
  }
}

TEST_CASE("a strategy leaves alone the options that its row does not name") {
  const Lengths lengths = heavy_tailed_lengths(500, 8, 4096);
  for (const Strategy& strategy : strategies()) {
    if (strategy.forms_iterations()) continue;
    INFO(strategy.name);
    const PackRequest defaults = request_for(lengths, 4096);
    const Packs packs = packs_with(strategy.name, defaults);
    const auto ignores = [&](std::string_view option, auto change) {
      if (find_option(strategy, option) != nullptr) return;
      PackRequest request = defaults;
      change(request.options);
      INFO(option);
      CHECK(packs_with(strategy.name, request) == packs);
    };
    ignores("seed", [](OptionValues& o) { o.set("seed", 3); });
    ignores("shuffle", [](OptionValues& o) { o.set("shuffle", false); });
    ignores("rounds", [](OptionValues& o) { o.set("rounds", 2); });
    ignores("threshold_tokens", [](OptionValues& o) { o.set("threshold_tokens", 1000); });
    ignores("max_samples_per_pack", [](OptionValues& o) { o.set("max_samples_per_pack", 2); });
    ignores("batch_samples", [](OptionValues& o) { o.set("batch_samples", 3); });
    ignores("padded_batches", [](OptionValues& o) { o.set("padded_batches", false); });
    ignores("packer", [](OptionValues& o) { o.set("packer", "ffd"); });
    ignores("greedy_fill", [](OptionValues& o) { o.set("greedy_fill", false); });
    ignores("linear_weight_tokens", [](OptionValues& o) { o.set("linear_weight_tokens", 0); });
    ignores("outlier_queues", [](OptionValues& o) { o.set("outlier_queues", 0); });
    ignores("outlier_threshold_tokens", [](OptionValues& o) { o.set("outlier_threshold_tokens", 500); });
    ignores("micro_batch_tokens", [](OptionValues& o) { o.set("micro_batch_tokens", 4096); });
  }
}

TEST_CASE("best fit decreasing does as well one token above a power of two (TRL #3887)") {
  const Lengths lengths = heavy_tailed_lengths(20000, 9, 8192);
  for (const std::int64_t capacity : {8192, 16384, 32768, 131072}) {
    const auto n_packs = static_cast<double>(pack("bfd", request_for(lengths, capacity)).n_packs());
    const auto n_packs_above = static_cast<double>(pack("bfd", request_for(lengths, capacity + 1)).n_packs());
    CHECK(n_packs_above <= n_packs);
    CHECK(n_packs_above >= 0.99 * n_packs - 1);
  }
}

TEST_CASE("the generator's words are those of std::mt19937") {
  for (const std::uint32_t seed : {0U, 1U, 1024U, 5489U, ~0U}) {
    Generator ours(seed);
    std::mt19937 standard(seed);
    bool same = true;
    for (int i = 0; i < 2000; ++i)
      same = same && ours() == standard();  // more than three refills of 624 words
    INFO(seed);
    CHECK(same);
  }
}

TEST_CASE("uniform_up_to stays within its limit and reaches it") {
  Generator generator(1);
  CHECK(uniform_up_to(generator, 0) == 0);
  for (const std::uint32_t limit : {1U, 2U, 3U, 7U, 8U, 9U}) {
    std::vector<int> drawn(limit + 1, 0);
    for (int i = 0; i < 20000; ++i) ++drawn.at(uniform_up_to(generator, limit));
    // The standard deviation of a count is at most sqrt(20 000 / 4) = 71; 450 is six of them.
    for (const int n : drawn) CHECK(std::abs(n - 20000.0 / (limit + 1)) < 450);
  }
}

TEST_CASE("the shuffle is numpy's") {
  // Around powers of two, where the mask of the draws changes, and the blocks in which they are made.
  for (const std::size_t n :
       {0, 1, 2, 3, 4, 5, 63, 64, 65, 66, 127, 128, 129, 130, 1000, 4096, 4097, 70000}) {
    for (const std::uint32_t seed : {0U, 1U, 1024U}) {
      std::vector<ItemIndex> values(n);
      std::iota(values.begin(), values.end(), ItemIndex{0});
      Generator generator(seed);
      shuffle(std::span(values), generator);
      INFO(n << " " << seed);
      CHECK(values == naive_shuffled(n, seed));
    }
  }
}

TEST_CASE("first fit and best fit pack exactly as a scan over all packs does") {
  for (const std::uint32_t seed : {11U, 12U, 13U, 14U}) {
    for (const std::int64_t capacity : {300, 4096, 5000, 131072}) {  // from about 1000 packs to a few
      const Lengths lengths = heavy_tailed_lengths(2000, seed, static_cast<std::int32_t>(capacity));
      check_against_scans(lengths, capacity, seed);
    }
  }
}

TEST_CASE("few lengths, so many ties, are packed exactly as a scan over all packs packs them") {
  for (const std::uint32_t seed : {15U, 16U, 17U}) {
    std::mt19937 generator(seed);
    Lengths lengths(1500);
    for (std::int32_t& length : lengths) length = 1 + static_cast<std::int32_t>(generator() % 12);
    for (const std::int64_t capacity : {12, 13, 17, 40}) {
      check_against_scans(lengths, capacity, seed);
    }
  }
}

TEST_CASE("few samples of great length are sorted like many") {
  // Few items are sorted by comparison, many by counting; both must keep data set order among equals.
  for (const std::size_t n : {5, 50, 500, 5000}) {
    std::mt19937 generator(18);
    Lengths lengths(n);
    for (std::int32_t& length : lengths) length = 1000 * (1 + static_cast<std::int32_t>(generator() % 9));
    const PackRequest request = request_for(lengths, 10000);
    INFO(n);
    CHECK(packs_with("ffd", request) == naive_first_fit(lengths, naive_longest_first(lengths), 10000));
    CHECK(packs_with("bfd", request) == naive_best_fit(lengths, naive_longest_first(lengths), 10000));
  }
}

TEST_CASE("ISF packs exactly as OmniBal's rounds over a shrinking pool") {
  for (const std::uint32_t seed : {0U, 19U, 1024U}) {
    const Lengths lengths = heavy_tailed_lengths(1500, seed, 4096);
    for (const int rounds : {1, 2, 3, 20}) {
      for (const std::int64_t threshold : {3000, 4000, 4096}) {
        INFO("seed " << seed << " rounds " << rounds << " threshold " << threshold);
        PackRequest request = request_for(lengths, 4096);
        request.options.set("seed", seed);
        request.options.set("rounds", rounds);
        request.options.set("threshold_tokens", threshold);
        CHECK(packs_with("isf", request) == naive_isf(lengths, 4096, threshold, rounds, seed));
      }
    }
  }
}

TEST_CASE("ISF's default threshold is 128 tokens under the capacity") {
  const Lengths lengths = heavy_tailed_lengths(1500, 20, 4096);
  PackRequest request = request_for(lengths, 4096);
  const Packs packs = packs_with("isf", request);
  request.options.set("threshold_tokens", 4096 - 128);
  CHECK(packs_with("isf", request) == packs);
}

TEST_CASE("fifty rounds of ISF leave less room than one") {
  const Lengths lengths = heavy_tailed_lengths(20000, 21, 16384);
  PackRequest request = request_for(lengths, 16384);
  const std::size_t after_fifty = pack("isf", request).n_packs();
  CHECK(after_fifty < pack("random", request).n_packs());
}

TEST_CASE("SPFHP and LPFHP make the packs of the published histogram algorithms") {
  for (const std::uint32_t seed : {22U, 23U, 24U}) {
    for (const std::int64_t capacity : {128, 512, 4096}) {
      const Lengths lengths = heavy_tailed_lengths(2000, seed, static_cast<std::int32_t>(capacity));
      for (const std::size_t limit : {1, 2, 3, 12, 100000}) {
        INFO("seed " << seed << " capacity " << capacity << " limit " << limit);
        PackRequest request = request_for(lengths, capacity);
        request.options.set("max_samples_per_pack", static_cast<std::int64_t>(limit));
        const auto census = [&](std::string_view strategy) {
          PackCensus result;
          for (const auto& pack_lengths : lengths_of(pack(strategy, request))) ++result[pack_lengths];
          return result;
        };
        CHECK((census("spfhp") == NaiveHistogramPacker(lengths, capacity, limit).shortest_pack_first()));
        CHECK((census("lpfhp") == NaiveHistogramPacker(lengths, capacity, limit).longest_pack_first()));
      }
    }
  }
}

TEST_CASE("histogram packers deal the samples of one length in data set order") {
  const Lengths lengths = heavy_tailed_lengths(3000, 25, 512);
  for (const char* strategy : {"spfhp", "lpfhp"}) {
    const Packing packing = pack(strategy, request_for(lengths, 512));
    std::vector<std::int64_t> last_of_length(513, -1);
    bool in_order = true;
    for (const ItemIndex item : packing.groups[0].items) {
      std::int64_t& last = last_of_length[static_cast<std::size_t>(lengths[item])];
      in_order = in_order && last < static_cast<std::int64_t>(item);
      last = item;
    }
    CHECK(in_order);
  }
}

TEST_CASE("greedy fill does what algorithm 6 says, line by line") {
  for (std::uint32_t seed = 26; seed < 46; ++seed) {
    std::mt19937 generator(seed);
    constexpr std::int64_t kCapacity = 1000;
    // Packs of one or two long samples, and two groups of smaller ones.
    Lengths lengths;
    Packs packs;
    PackSet fast_packs;
    for (int p = 0; p < 60; ++p) {
      packs.emplace_back();
      for (std::uint32_t i = 0; i <= generator() % 2; ++i) {
        packs.back().push_back(static_cast<ItemIndex>(lengths.size()));
        fast_packs.items.push_back(static_cast<ItemIndex>(lengths.size()));
        lengths.push_back(301 + static_cast<std::int32_t>(generator() % 200));
      }
      fast_packs.close_pack();
    }
    std::vector<std::vector<ItemIndex>> smaller(2);
    for (int i = 0; i < 500; ++i) {
      const std::size_t group = generator() % 2;
      smaller[group].push_back(static_cast<ItemIndex>(lengths.size()));
      lengths.push_back(1 + static_cast<std::int32_t>(generator() % 100) + (group == 0 ? 100 : 0));
    }
    auto fast_smaller = smaller;
    naive_greedy_fill(lengths, kCapacity, packs, smaller);
    std::vector<std::vector<ItemIndex>*> sources = {&fast_smaller[0], &fast_smaller[1]};
    greedy_fill(lengths, kCapacity, fast_packs, sources);
    INFO(seed);
    CHECK(packs_of(fast_packs) == packs);
    CHECK(fast_smaller == smaller);
  }
}

TEST_CASE("HBP is group, pack the longest group, fill it up, and so on down, for every packer") {
  const std::vector<std::int64_t> capacities = {256, 1024, 4096};
  const Lengths lengths = heavy_tailed_lengths(1500, 47, 4096);
  for (const char* packer : {"random", "isf", "ffd", "ffs", "bfd", "bfs", "spfhp", "lpfhp"}) {
    for (const bool fill : {true, false}) {
      INFO(packer << " " << fill);
      PackRequest request = request_for(lengths, 0);
      request.capacities_tokens = capacities;
      request.options.set("packer", packer);
      request.options.set("greedy_fill", fill);
      const Packing packing = pack("hbp", request);
      CHECK(what_is_wrong(packing, request) == "");

      std::vector<std::vector<ItemIndex>> members(3);
      for (ItemIndex item = 0; item < lengths.size(); ++item) {
        members[lengths[item] <= 256 ? 0 : lengths[item] <= 1024 ? 1 : 2].push_back(item);
      }
      for (std::size_t group = 3; group-- > 0;) {
        Lengths part;
        for (const ItemIndex item : members[group]) part.push_back(lengths[item]);
        PackRequest alone = request_for(part, capacities[group]);
        Packs packs = packs_with(packer, alone);
        for (auto& p : packs) {
          for (ItemIndex& item : p) item = members[group][item];
        }
        std::vector<std::vector<ItemIndex>> smaller;
        for (std::size_t below = group; below-- > 0;) smaller.push_back(members[below]);
        if (fill) naive_greedy_fill(lengths, capacities[group], packs, smaller);
        for (std::size_t below = group; below-- > 0;) members[below] = smaller[group - 1 - below];
        CHECK(packs_of(packing.groups[group]) == packs);
      }
    }
  }
}

TEST_CASE("over-long and empty samples that HBP keeps go to the last and the first group") {
  const Lengths lengths = {0, 5, 20, 11};
  PackRequest request{.lengths_tokens = lengths,
                      .capacities_tokens = {6, 12},
                      .over_long = OverLong::own_pack,
                      .empty = Empty::keep};
  request.options.set("packer", "ffd");
  request.options.set("greedy_fill", false);
  const Packing packing = pack("hbp", request);
  CHECK(packs_of(packing.groups[0]) == Packs{{1, 0}});
  CHECK(packs_of(packing.groups[1]) == Packs{{2}, {3}});
}

TEST_CASE("a packing may be moved") {
  const Lengths lengths = {9, 3};
  const PackRequest request{
      .lengths_tokens = lengths, .capacities_tokens = {4}, .over_long = OverLong::split};
  Packing first = pack("bfd", request);
  const Packing second = std::move(first);
  CHECK(what_is_wrong(second, request) == "");  // 9 = 4 + 4 + 1, and 1 goes with 3
  CHECK(second.n_packs() == 3);
}

}  // namespace packsim::testing
