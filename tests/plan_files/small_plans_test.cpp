// The complete check of packs and weights of plans that one can see through: what is just right is accepted,
// and the next refused.

#include <catch2/catch.hpp>
#include <utility>

#include "tests/plan_files/small_tables.hpp"

namespace packsim::testing {
namespace {

// One pack of these samples.
OwnTables one_pack(std::string_view strategy, const Lengths& lengths, std::int64_t capacity_tokens) {
  return small_tables(
      {.strategy = strategy, .packs = {lengths}, .iterations = {{0}}, .capacity_tokens = capacity_tokens});
}

OwnTables own_pack(const Lengths& lengths, std::int64_t n_own) {
  OwnTables plan = one_pack("ffd", lengths, 4);
  plan.facts.over_long = OverLong::own_pack;
  plan.facts.counts.own_pack_samples = n_own;
  return plan;
}

}  // namespace

TEST_CASE("A pack, or each of its rows, holds as many tokens as the group says") {
  CHECK(one_pack("ffd", {3, 4}, 7).refusal() == "");
  CHECK(one_pack("ffd", {3, 3}, 5).refusal() == "pack 0 of group 0: expected at most 5 tokens, got 6");
  CHECK(one_pack("sorted", {3, 4}, 4).refusal() == "");
  OwnTables rows = one_pack("sorted", {3, 4}, 3);
  rows.facts.over_long = OverLong::own_pack;
  rows.facts.counts.own_pack_samples = 1;
  CHECK(rows.refusal() == "pack 0 of group 0: expected at most 3 tokens in a row, got 4");
}

TEST_CASE("A sample above every pack length has a pack of its own, up to 2^24 tokens") {
  CHECK(own_pack({4}, 0).refusal() == "");
  CHECK(own_pack({5}, 1).refusal() == "");
  CHECK(own_pack({5, 1}, 1).refusal() == "pack 0 of group 0: expected at most 4 tokens, got 6");
  CHECK(own_pack({1 << 24}, 1).refusal() == "");
  CHECK(own_pack({(1 << 24) + 1}, 1).refusal() ==
        "pack 0 of group 0: expected at most 16777216 tokens, got 16777217");
  // A sample that fits the second group has no right to a pack of the first.
  for (const std::int64_t longest : {7, 8}) {
    OwnTables plan = own_pack({8}, longest == 7 ? 1 : 0);
    plan.groups.push_back({.capacity_tokens = longest, .first_pack = 1});
    CHECK(plan.refusal() == (longest == 7 ? "" : "pack 0 of group 0: expected at most 4 tokens, got 8"));
  }
}

TEST_CASE("The rows of a pack have at most 4e18 token pairs together") {
  // 4e18 / (2^24 + 1)^2 = 14210.8: pack length and the multiple that rows are padded to.
  constexpr std::int64_t kLongest = 1 << 24;
  CHECK(one_pack("sorted", Lengths(14210, 1), kLongest).refusal() == "");
  CHECK(one_pack("sorted", Lengths(14211, 1), kLongest).refusal() ==
        "pack 0 of group 0: expected rows of at most 4e18 token pairs together, got 14211 rows");
  CHECK(one_pack("ffd", Lengths(14211, 1), kLongest).refusal() == "");
  OwnTables padded = one_pack("sorted", Lengths(3553, 1), kLongest);  // 4e18 / (2^25)^2 = 3552.7
  padded.facts.pad_multiple_tokens = kLongest;
  CHECK(padded.refusal() ==
        "pack 0 of group 0: expected rows of at most 4e18 token pairs together, got 3553 rows");
}

TEST_CASE("Only the first pack of each kind of mistake is told") {
  const OwnTables rows = small_tables({.strategy = "sorted",
                                       .packs = {Lengths(14211, 1), Lengths(14211, 1)},
                                       .iterations = {{0}, {1}},
                                       .capacity_tokens = 1 << 24});
  CHECK(rows.refusal() ==
        "pack 0 of group 0: expected rows of at most 4e18 token pairs together, got 14211 rows");
  const OwnTables plan =
      small_tables({.packs = {{0, 7}, {0, 7}}, .iterations = {{0}, {1}}, .capacity_tokens = 6});
  OwnTables own = plan;
  own.facts.over_long = OverLong::own_pack;
  own.facts.counts.own_pack_samples = 2;
  CHECK(own.refusal() ==
        "pack 0 of group 0: expected no empty sample, as the facts do not keep them, got one\n"
        "pack 0 of group 0: expected at most 6 tokens, got 7");
}

TEST_CASE("A weight may differ by rounding, 1e-9 of it") {
  for (const double weight : {1 - 0.99e-9, 1 + 0.99e-9}) {
    OwnTables plan = one_pack("ffd", {3}, 7);
    plan.weights[0] = weight;
    CHECK(plan.refusal() == "");
  }
  for (const double weight : {1 - 1.01e-9, 1 + 1.01e-9}) {
    OwnTables plan = one_pack("ffd", {3}, 7);
    plan.weights[0] = weight;
    CHECK_THAT(plan.refusal(), Catch::StartsWith("weights[0]: expected 1, that of the normaliser sum, got "));
  }
  OwnTables without_loss = one_pack("ffd", {1}, 7);  // the only token is the first one
  CHECK(without_loss.refusal() == "");
  without_loss.weights[0] = 5e-324;
  CHECK(without_loss.refusal() ==
        "weights[0]: expected 0, that of the normaliser sum, got 4.9406564584124654e-324");
}

// Packs of 4, 2 and 1 of 4 GPUs, each with one loss token: its weight is the mean over all GPUs of one over
// the packs that each of its own has.
TEST_CASE("GPUs share an iteration's weight among their packs, whatever else lies on their neighbours") {
  struct Case {
    std::vector<PlanPlacedPack> placed;
    std::vector<double> weights;
  };
  const std::vector<Case> cases = {
      // GPUs 0 to 2 have two packs: (1/2 + 1/2 + 1/2 + 1) / 4, (1/2 + 1/2) / 4 and 1/2 / 4.
      {{{.group = 0}, {.first_gpu = 0, .group = 1, .round = 1}, {.first_gpu = 2, .group = 2, .round = 1}},
       {0.625, 0.25, 0.125}},
      // GPUs 0 and 1 have two packs, GPU 0 has three: (1/3 + 1/2 + 1 + 1) / 4, (1/3 + 1/2) / 4 and 1/3 / 4.
      {{{.group = 0}, {.first_gpu = 0, .group = 1, .round = 1}, {.first_gpu = 0, .group = 2, .round = 2}},
       {17.0 / 24, 5.0 / 24, 1.0 / 12}},
  };
  for (const Case& one : cases) {
    OwnTables plan =
        small_tables({.strategy = "megatron_hybrid_cp", .packs = {{2}, {2}, {2}}, .iterations = {}});
    plan.facts.n_gpus = 4;
    plan.facts.normaliser = "token_mean";
    plan.groups.clear();
    for (std::uint32_t g = 0; g < 3; ++g)
      plan.groups.push_back({.capacity_tokens = 2, .first_pack = g, .n_packs = 1, .sp_degree = 4U >> g});
    plan.placed = one.placed;
    plan.iterations = {{0, 3}};
    plan.weights = one.weights;
    CHECK(plan.refusal() == "");
    for (double& weight : plan.weights) {
      const double right = std::exchange(weight, weight + 0.01);
      CHECK_THAT(plan.refusal(), Catch::StartsWith("weights["));
      weight = right;
    }
  }
  // A GPU without a pack: (1 + 1) / 4 and 1 / 4.
  OwnTables plan = small_tables({.strategy = "megatron_hybrid_cp", .packs = {{2}, {2}}, .iterations = {}});
  plan.facts.n_gpus = 4;
  plan.facts.normaliser = "token_mean";
  plan.groups = {{.capacity_tokens = 2, .n_packs = 1, .sp_degree = 2},
                 {.capacity_tokens = 2, .first_pack = 1, .n_packs = 1}};
  plan.placed = {{.first_gpu = 0, .group = 0}, {.first_gpu = 3, .group = 1}};
  plan.iterations = {{0, 2}};
  plan.weights = {0.5, 0.25};
  CHECK(plan.refusal() == "");
}

}  // namespace packsim::testing
