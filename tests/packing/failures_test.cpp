// What pack() refuses, word for word, and what check_packing() catches.

#include <catch2/catch.hpp>
#include <cctype>
#include <set>
#include <stdexcept>

#include "packing/pack.hpp"
#include "tests/packing/hand_packing.hpp"
#include "tests/packing/partition_check.hpp"

namespace packsim::testing {
namespace {

using Lengths = std::vector<std::int32_t>;

std::string refusal(std::string_view strategy, const PackRequest& request) {
  try {
    pack(strategy, request);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal(std::string_view strategy, void (*change)(PackRequest&)) {
  static const Lengths lengths = {3, 2};
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {4}};
  change(request);
  return refusal(strategy, request);
}

std::string found_broken(const Packing& packing, const PackRequest& request) {
  try {
    check_packing(packing, request);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "nothing";
}

// Packs that a strategy might have made of samples of 3, 2, 4 and 6 tokens, for packs of 5.
Packing packing_of(const Lengths& lengths, std::string_view strategy, const Packs& packs) {
  Packing packing;
  packing.strategy = find_strategy(strategy);
  packing.capacities_tokens = {5};
  packing.lengths_tokens = lengths;
  packing.groups.resize(1);
  for (const auto& items : packs) {
    packing.groups[0].items.insert(packing.groups[0].items.end(), items.begin(), items.end());
    packing.groups[0].close_pack();
  }
  return packing;
}

}  // namespace

TEST_CASE("an unknown strategy is answered with the known ones") {
  CHECK(refusal("first", [](PackRequest&) {}) ==
        "strategy: expected one of none, random, sorted, isf, ffd, ffs, bfd, bfs, spfhp, lpfhp, wrapped, "
        "hbp, trl_bfd, axolotl_multipack, nemo_ffs, longalign, longalign_sorted, wlb, megatron_hybrid_cp, "
        "megatron_dynamic_cp, megatron_dp_balanced, verl_kk, slime_kk, prime_rl, trl_lpt, planner, flexsp, "
        "got \"first\"");
  CHECK(refusal("", [](PackRequest&) {}).starts_with("strategy: expected one of "));
  CHECK(find_strategy("FFD") == nullptr);
}

TEST_CASE("every strategy has a name of its own, a summary, a complexity, a source and one way to run") {
  std::set<std::string_view> names;
  for (const Strategy& strategy : strategies()) {
    CHECK(names.insert(strategy.name).second);
    CHECK(find_strategy(strategy.name) == &strategy);
    // The summary is written in parts; without one of them it is no sentence.
    CHECK(strategy.summary.size() > 30);
    CHECK(std::isupper(strategy.summary.front()) != 0);
    CHECK(strategy.summary.ends_with('.'));
    CHECK(strategy.summary.find("  ") == std::string_view::npos);
    CHECK(!strategy.complexity.empty());
    CHECK(!strategy.source.empty());
    const int hooks = static_cast<int>(strategy.pack != nullptr) +
                      static_cast<int>(strategy.pack_groups != nullptr) +
                      static_cast<int>(strategy.forms_iterations());
    CHECK(hooks == 1);
  }
}

TEST_CASE("pack lengths must be there, positive and ascending, and no more than the strategy has groups") {
  const auto with = [](std::string_view strategy, const std::vector<std::int64_t>& capacities) {
    static const Lengths lengths = {1};
    return refusal(strategy, {.lengths_tokens = lengths, .capacities_tokens = capacities});
  };
  CHECK(with("ffd", {}) == "capacities_tokens: expected at least one pack length, got none");
  CHECK(with("ffd", {4, 8}) == "capacities_tokens: expected one pack length for ffd, got 2");
  CHECK(with("ffd", {0}) == "capacities_tokens[0]: expected 1..16777216, got 0");
  CHECK(with("ffd", {-4}) == "capacities_tokens[0]: expected 1..16777216, got -4");
  CHECK(with("ffd", {16777217}) == "capacities_tokens[0]: expected 1..16777216, got 16777217");
  CHECK(with("hbp", {8, 4}) == "capacities_tokens[1]: expected 9..16777216, got 4");
  CHECK(with("hbp", {4, 8, 8}) == "capacities_tokens[2]: expected 9..16777216, got 8");
  CHECK(with("ffd", {1 << 24}) == "accepted");
  CHECK(with("hbp", {4, 5, 6}) == "accepted");
}

TEST_CASE("options out of range are refused") {
  CHECK(refusal("ffd", [](PackRequest& r) { r.window_samples = -1; }) ==
        "window_samples: expected >= 0, got -1");
  CHECK(refusal("isf", [](PackRequest& r) { r.options.set("rounds", 0); }) ==
        "rounds: expected integer in 1..1000000, got 0");
  CHECK(refusal("none", [](PackRequest& r) { r.options.set("batch_samples", 0); }) ==
        "batch_samples: expected integer in 1..1000000000, got 0");
  CHECK(refusal("sorted", [](PackRequest& r) { r.options.set("batch_samples", -1); }) ==
        "batch_samples: expected integer in 0..1000000000, got -1");
  CHECK(refusal("lpfhp", [](PackRequest& r) { r.options.set("max_samples_per_pack", -1); }) ==
        "max_samples_per_pack: expected integer in 0..1000000000, got -1");
  CHECK(refusal("isf", [](PackRequest& r) { r.options.set("threshold_tokens", -2); }) ==
        "threshold_tokens: expected integer in -1..16777216, got -2");
  CHECK(refusal("wrapped", [](PackRequest& r) { r.over_long = OverLong::own_pack; }) ==
        "over_long: expected error, drop, truncate or split for wrapped, which cuts samples anyway, got "
        "\"own_pack\"");
}

TEST_CASE("hbp packs its groups with strategies that pack whole samples into one row only") {
  for (const char* packer : {"hbp", "wrapped", "none", "trl_bfd", "wlb", "sorted", "best", ""}) {
    static const Lengths lengths = {1};
    PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {4}};
    request.options.set("packer", packer);
    CHECK(
        refusal("hbp", request) ==
        "packer: expected one of random, isf, ffd, ffs, bfd, bfs, spfhp, lpfhp, nemo_ffs, longalign, got \"" +
            std::string(packer) + "\"");
    CHECK(refusal("ffd", request) == "accepted");  // which does not read it
  }
}

TEST_CASE("a strategy that forms whole iterations does not pack where GPUs are not known") {
  CHECK(refusal("wlb", [](PackRequest&) {}) ==
        "setting: expected GPUs and tokens_per_iteration for wlb, got none");
  // One GPU and one token an iteration are enough: every sample has an iteration of its own.
  const auto with_tokens = [](std::int64_t tokens_per_iteration) {
    static const Lengths lengths = {3, 2};
    const BatchSetting setting{
        .groups = {{.capacity_tokens = 4}}, .n_gpus = 1, .tokens_per_iteration = tokens_per_iteration};
    return refusal("wlb", {.lengths_tokens = lengths, .capacities_tokens = {4}, .setting = &setting});
  };
  CHECK(with_tokens(1) == "accepted");
  CHECK(with_tokens(0) == "tokens_per_iteration: expected >= 1 for wlb, got 0");
}

TEST_CASE("lengths that break a promise are named, three at most, and counted") {
  const auto with = [](const Lengths& lengths, Empty empty = Empty::drop) {
    return refusal("ffd", {.lengths_tokens = lengths, .capacities_tokens = {4}, .empty = empty});
  };
  CHECK(with({3, -1, 2}) ==
        "lengths_tokens: expected lengths of at least 0, got 1 that are not: sample 1 has -1");
  CHECK(with({3, 9, 4, 5}) ==
        "lengths_tokens: expected lengths of at most 4 (or another over_long policy), got 2 that are not: "
        "sample 1 has 9, sample 3 has 5");
  CHECK(with({5, 6, 7, 1, 8, 9}) ==
        "lengths_tokens: expected lengths of at most 4 (or another over_long policy), got 5 that are not: "
        "sample 0 has 5, sample 1 has 6, sample 2 has 7, ...");
  CHECK(with({1, 0}, Empty::error) ==
        "lengths_tokens: expected lengths of at least 1 (or another empty policy), got 1 that are not: "
        "sample 1 has 0");
  CHECK(with({1, 0}) == "accepted");
  CHECK(with({}) == "accepted");
}

TEST_CASE("a negative length is refused under every policy") {
  static const Lengths lengths = {1, -7};
  for (const Strategy& strategy : strategies()) {
    if (strategy.forms_iterations()) continue;
    for (const auto& policy : kOverLongNames) {
      if (strategy.cuts_samples && policy.value == OverLong::own_pack) continue;
      CHECK(refusal(strategy.name,
                    {.lengths_tokens = lengths, .capacities_tokens = {4}, .over_long = policy.value}) ==
            "lengths_tokens: expected lengths of at least 0, got 1 that are not: sample 1 has -7");
    }
  }
}

TEST_CASE("nothing packs into nothing") {
  for (const Strategy& strategy : strategies()) {
    if (strategy.forms_iterations()) continue;
    const PackRequest request{.lengths_tokens = {}, .capacities_tokens = {4}};
    const Packing packing = pack(strategy.name, request);
    CHECK(packing.n_packs() == 0);
    CHECK(packing.counts == PackCounts{});
    CHECK(what_is_wrong(packing, request) == "");
  }
}

TEST_CASE("the greatest length that fits 32 bits is cut, dropped or kept without overflow") {
  const Lengths lengths = {INT32_MAX, 1};
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {1 << 24}};
  for (const Strategy& strategy : strategies()) {
    if (strategy.forms_iterations()) continue;
    for (const auto& policy : kOverLongNames) {
      if (policy.value == OverLong::error) continue;
      if (strategy.cuts_samples && policy.value == OverLong::own_pack) continue;
      request.over_long = policy.value;
      INFO(strategy.name << " " << policy.name);
      CHECK(what_is_wrong(pack(strategy.name, request), request) == "");
    }
  }
}

TEST_CASE("counts of over-long and empty samples add up by hand") {
  const Lengths lengths = {3, 0, 9, 4, 11};  // 27 tokens; 9 and 11 are over-long
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {4}};
  const PackCounts packed = {.n_samples = 5, .n_tokens = 27, .empty_samples = 1};
  PackCounts expected = packed;
  request.over_long = OverLong::drop;
  expected.dropped_samples = 2;
  expected.dropped_tokens = 20;
  CHECK(pack("ffd", request).counts == expected);

  request.over_long = OverLong::truncate;  // 9 - 4 and 11 - 4 tokens are cut off
  expected = packed;
  expected.truncated_samples = 2;
  expected.truncated_tokens = 12;
  CHECK(pack("ffd", request).counts == expected);

  request.over_long = OverLong::split;
  expected = packed;
  expected.split_samples = 2;
  CHECK(pack("ffd", request).counts == expected);
  // In a row: tokens 0..2, 3..11, 12..15 and 16..26, cut at every multiple of 4. The sample of 4 stays whole.
  CHECK(pack("wrapped", request).counts == expected);

  request.over_long = OverLong::own_pack;
  expected = packed;
  expected.own_pack_samples = 2;
  CHECK(pack("ffd", request).counts == expected);
}

TEST_CASE("check_packing names what a broken strategy has lost, doubled or over-filled") {
  const Lengths lengths = {3, 2, 4};
  const PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {5}};
  const auto found = [&](const Packs& packs) {
    return found_broken(packing_of(lengths, "ffd", packs), request);
  };
  CHECK(found({{2}, {0, 1}}) == "nothing");
  CHECK(found({{0, 1}}) == "strategy ffd: item 2 is in no pack, expected one");
  CHECK(found({{2}, {0, 1}, {1}}) == "strategy ffd: item 1 is in two packs, expected one");
  CHECK(found({{2, 0}, {1}}) == "strategy ffd: pack 0 has 7 tokens in a row, expected at most 5");
  CHECK(found({{2}, {0, 1, 7}}) == "strategy ffd: pack 1 holds an item that is not there");
  CHECK(found({{2}, {}, {0, 1}}) == "strategy ffd: pack 1 is empty");
}

TEST_CASE("check_packing lets only an over-long sample alone be longer than a pack") {
  const Lengths lengths = {3, 6, 4};
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {5}, .over_long = OverLong::own_pack};
  const auto found = [&](std::string_view strategy, const Packs& packs) {
    return found_broken(packing_of(lengths, strategy, packs), request);
  };
  CHECK(found("ffd", {{1}, {2}, {0}}) == "nothing");
  CHECK(found("ffd", {{1, 0}, {2}}) == "strategy ffd: pack 0 has 9 tokens in a row, expected at most 5");
  CHECK(found("ffd", {{1}, {2, 0}}) == "strategy ffd: pack 1 has 7 tokens in a row, expected at most 5");
  CHECK(found("none", {{1}, {2, 0}}) == "nothing");  // rows of their own
  CHECK(found("none", {{1, 2}, {0}}) == "strategy none: pack 0 has 6 tokens in a row, expected at most 5");
  request.over_long = OverLong::drop;
  CHECK(found("ffd", {{2}, {0}}) == "nothing");
  CHECK(found("ffd", {{1}, {2}, {0}}) == "strategy ffd: pack 0 has 6 tokens in a row, expected at most 5");
  CHECK(found("none", {{1}, {2, 0}}) == "strategy none: pack 0 has 6 tokens in a row, expected at most 5");
  CHECK(found("ffd", {{2}}) == "strategy ffd: item 0 is in no pack, expected one");
}

TEST_CASE("check_packing holds strategies to the policy for empty samples") {
  const Lengths lengths = {3, 0};
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {5}};
  const auto found = [&](const Packs& packs) {
    return found_broken(packing_of(lengths, "ffd", packs), request);
  };
  CHECK(found({{0}}) == "nothing");
  CHECK(found({{0, 1}}) == "strategy ffd: item 1 has no tokens, expected it left out");
  request.empty = Empty::keep;
  CHECK(found({{0, 1}}) == "nothing");
  CHECK(found({{0}}) == "strategy ffd: item 1 is in no pack, expected one");
}

TEST_CASE("check_packing holds each group to its own pack length") {
  Packing packing = hand_packing("hbp", {5, 9}, {{{4}}, {{8}}});
  const PackRequest request{.lengths_tokens = packing.lengths_tokens, .capacities_tokens = {5, 9}};
  CHECK(found_broken(packing, request) == "nothing");
  std::swap(packing.groups[0], packing.groups[1]);
  CHECK(found_broken(packing, request) == "strategy hbp: pack 0 has 8 tokens in a row, expected at most 5");
}

TEST_CASE("check_packing names what is wrong with the places of packs") {
  // Two packs of 1 GPU and one of 2 GPUs, on 2 GPUs: the first two beside each other, and then the wide one.
  Packing packing = hand_packing("planner", {5, 9}, {{{4}, {5}}, {{8}}});
  const BatchSetting setting{.groups = {{.gpus_per_pack = 1}, {.gpus_per_pack = 2}}, .n_gpus = 2};
  const PackRequest request{
      .lengths_tokens = packing.lengths_tokens, .capacities_tokens = {5, 9}, .setting = &setting};
  const PlannedIterations right{.placed = {{.pack = 0, .first_gpu = 0, .group = 0, .round = 0},
                                           {.pack = 1, .first_gpu = 1, .group = 0, .round = 0},
                                           {.pack = 0, .first_gpu = 0, .group = 1, .round = 1}},
                                .iterations = {{.first_placed = 0, .n_placed = 3}}};
  const auto found = [&](void (*change)(PlannedIterations&)) {
    packing.planned = right;
    change(packing.planned);
    return found_broken(packing, request);
  };
  CHECK(found([](PlannedIterations&) {}) == "nothing");
  CHECK(found([](PlannedIterations& planned) {
          planned.placed.pop_back();
          planned.iterations[0].n_placed = 2;
        }) == "strategy planner: only 2 packs are in iterations");
  CHECK(found([](PlannedIterations& planned) { planned.iterations[0].n_placed = 2; }) ==
        "strategy planner: only 2 packs are in iterations");
  CHECK(found([](PlannedIterations& planned) { planned.iterations[0].n_placed = 4; }) ==
        "strategy planner: iteration 0 does not begin where the one before ends");
  CHECK(found([](PlannedIterations& planned) { planned.iterations[0].first_placed = 1; }) ==
        "strategy planner: iteration 0 does not begin where the one before ends");
  CHECK(found([](PlannedIterations& planned) { planned.iterations.push_back({.first_placed = 3}); }) ==
        "strategy planner: iteration 1 has no packs");
  CHECK(found([](PlannedIterations& planned) { planned.placed[1].pack = 2; }) ==
        "strategy planner: iteration 0 trains a pack that is not there");
  CHECK(found([](PlannedIterations& planned) { planned.placed[1].group = 2; }) ==
        "strategy planner: iteration 0 trains a pack that is not there");
  CHECK(found([](PlannedIterations& planned) { planned.placed[1].pack = 0; }) ==
        "strategy planner: iteration 0 trains a pack that was trained before, expected once");
  CHECK(found([](PlannedIterations& planned) { planned.placed[1].first_gpu = 2; }) ==
        "strategy planner: iteration 0 places a pack on GPUs from 2 on");
  CHECK(found([](PlannedIterations& planned) { planned.placed[2].first_gpu = 1; }) ==
        "strategy planner: iteration 0 places a pack on GPUs from 1 on");
  CHECK(found([](PlannedIterations& planned) { planned.placed[0].round = 1; }) ==
        "strategy planner: iteration 0 has rounds out of order");
  CHECK(found([](PlannedIterations& planned) { planned.placed[2].round = 0; }) ==
        "strategy planner: iteration 0 gives GPU 0 two packs in a round");
}

}  // namespace packsim::testing
