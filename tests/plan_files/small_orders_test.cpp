// The complete check of the order of packs and iterations, of plans that one can see through: what is just
// right is accepted, and the next refused.

#include <catch2/catch.hpp>

#include "tests/plan_files/small_tables.hpp"

namespace packsim::testing {
namespace {

// Packs of one sample each, two in an iteration.
std::string refusal_of_order(PackOrder order, const Lengths& lengths, const std::vector<Packs>& iterations,
                             int epochs = 1, std::int64_t curriculum_iterations = 0) {
  SmallPlan how{.packs = {},
                .iterations = iterations,
                .micro_batches_per_rank = 2,
                .order = order,
                .last_iteration = lengths.size() % 2 == 0 ? LastIteration::repeat : LastIteration::shorten,
                .epochs = epochs,
                .curriculum_iterations = curriculum_iterations};
  for (const std::int32_t length : lengths) how.packs.push_back({length});
  return small_tables(how).refusal();
}

std::string is_between(int iteration) {
  const std::string index = std::to_string(iteration);
  return "iterations[" + index +
         "]: expected packs between which no other iteration has some, as order is balanced, got " + index;
}

}  // namespace

TEST_CASE("Balanced iterations are neighbours among the packs that are sorted by attention work") {
  const auto refusal_of = [](const Lengths& lengths, const std::vector<Packs>& iterations, int epochs = 1) {
    return refusal_of_order(PackOrder::balanced, lengths, iterations, epochs);
  };
  const std::string is_unsorted = "]: expected packs by ascending attention work, as order is balanced, got ";
  CHECK(refusal_of({2, 3, 4, 5}, {{0, 1}, {2, 3}}) == "");
  CHECK(refusal_of({2, 3, 4, 5}, {{2, 3}, {0, 1}}) == "");
  CHECK(refusal_of({2, 4, 5, 3}, {{0, 3}, {1, 2}}) == "");
  CHECK(refusal_of({2, 2, 2, 2}, {{0, 1}, {2, 3}}) == "");
  CHECK(refusal_of({2, 2, 2, 2}, {{1, 0}, {2, 3}}) == "iterations[0" + is_unsorted + "0");
  CHECK(refusal_of({2, 3, 4, 5}, {{0, 1}, {3, 2}}) == "iterations[1" + is_unsorted + "1");
  CHECK(refusal_of({2, 3, 4, 5}, {{0, 2}, {1, 3}}) == is_between(1));
  CHECK(refusal_of({2, 3, 4, 5}, {{1, 3}, {0, 2}}) == is_between(0));
  CHECK(refusal_of({2, 3, 4, 5}, {{0, 3}, {1, 2}}) == is_between(1));
  CHECK(refusal_of({2, 3, 4, 5, 6, 7}, {{0, 2}, {1, 3}, {4, 5}}) == is_between(1));
  CHECK(refusal_of({2, 3, 4, 5, 6, 7}, {{0, 1}, {2, 4}, {3, 5}}) == is_between(2));
  CHECK(refusal_of({2, 3, 4, 5}, {{0, 1}, {2, 3}, {2, 3}, {0, 1}}, 2) == "");
  CHECK(refusal_of({2, 3, 4, 5}, {{0, 1}, {2, 3}, {0, 2}, {1, 3}}, 2) == is_between(3));
}

namespace {

// The packs from `n_first` on, and where they are placed, as a second group.
void split_group(OwnTables& plan, std::uint32_t n_first) {
  PlanGroup second = plan.groups[0];
  second.first_pack = n_first;
  second.n_packs -= n_first;
  plan.groups[0].n_packs = n_first;
  plan.groups.push_back(second);
  for (PlanPlacedPack& placed : plan.placed) {
    if (placed.pack < n_first) continue;
    placed.group = 1;
    placed.pack -= n_first;
  }
}

}  // namespace

TEST_CASE("Each group is balanced by itself, and the first one has the curriculum") {
  const auto refusal_of = [](PackOrder order, const std::vector<Packs>& iterations, std::int64_t wanted) {
    OwnTables plan = small_tables({.packs = {{2}, {3}, {4}, {5}, {2}, {3}, {4}, {5}},
                                   .iterations = iterations,
                                   .micro_batches_per_rank = 2,
                                   .order = order,
                                   .curriculum_iterations = wanted});
    split_group(plan, 4);
    return plan.refusal();
  };
  const std::vector<Packs> balanced = {{0, 1}, {4, 5}, {6, 7}, {2, 3}};
  CHECK(refusal_of(PackOrder::balanced, balanced, 0) == "");
  CHECK(refusal_of(PackOrder::balanced, {{0, 2}, {4, 5}, {6, 7}, {1, 3}}, 0) == is_between(3));
  CHECK(refusal_of(PackOrder::balanced, {{0, 1}, {4, 6}, {5, 7}, {2, 3}}, 0) == is_between(2));
  CHECK(refusal_of(PackOrder::balanced, balanced, 1) == "");
  const std::string is_second = "]: expected one of group 0, with which the curriculum begins, got 1";
  CHECK(refusal_of(PackOrder::balanced, balanced, 2) == "iterations[1" + is_second);
  CHECK(refusal_of(PackOrder::shuffled, {{4, 5}, {0, 1}, {6, 7}, {2, 3}}, 1) == "iterations[0" + is_second);
  CHECK(refusal_of(PackOrder::shuffled, {{2, 3}, {0, 1}, {6, 7}, {4, 5}}, 2) == "");
}

TEST_CASE("A curriculum has no more attention work than any whole iteration behind it") {
  const auto refusal_of = [](const Lengths& lengths, const std::vector<Packs>& iterations, int wanted) {
    return refusal_of_order(PackOrder::shuffled, lengths, iterations, 1, wanted);
  };
  const auto is_less = [](int iteration, int most, int work) {
    return "iterations[" + std::to_string(iteration) + "]: expected at least " + std::to_string(most) +
           " token pairs, as the curriculum has them, got " + std::to_string(work);
  };
  // 2^2 + 3^2 = 13 and 4^2 + 5^2 = 41.
  CHECK(refusal_of({2, 3, 4, 5}, {{0, 1}, {2, 3}}, 1) == "");
  CHECK(refusal_of({2, 3, 4, 5}, {{2, 3}, {0, 1}}, 1) == is_less(1, 41, 13));
  CHECK(refusal_of({2, 3, 4, 5}, {{2, 3}, {0, 1}}, 2) == "");
  CHECK(refusal_of({2, 3, 4, 5}, {{2, 3}, {0, 1}}, 3) ==
        "facts: /curriculum_iterations: expected at most the 2 of an epoch, got 3");
  CHECK(refusal_of({2, 3, 3, 2}, {{0, 1}, {2, 3}}, 1) == "");
  // 6^2 + 7^2 = 85: the most of the curriculum counts, wherever it is.
  CHECK(refusal_of({2, 3, 4, 5, 6, 7}, {{2, 3}, {0, 1}, {4, 5}}, 2) == "");
  CHECK(refusal_of({2, 3, 4, 5, 6, 7}, {{4, 5}, {0, 1}, {2, 3}}, 2) == is_less(2, 85, 41));
  CHECK(refusal_of({2, 3, 4, 5, 6, 7}, {{0, 1}, {4, 5}, {2, 3}}, 2) == is_less(2, 85, 41));
  // What is left at the end of the epoch may be less.
  CHECK(refusal_of({2, 3, 4, 5, 2}, {{0, 1}, {2, 3}, {4}}, 1) == "");
  CHECK(refusal_of_order(PackOrder::as_packed, {2, 3, 4, 5}, {{0, 1}, {2, 3}}, 1, 1) ==
        "facts: /curriculum_iterations: expected 0 in the order as_packed, got 1");
}

TEST_CASE("The attention work of an iteration fits in 64 bits") {
  // 14210 rows of 2^24 tokens have 14210 * 2^48 = 3999759419058421760 pairs: two such packs fit, three do
  // not.
  for (const std::uint32_t n_packs : {2U, 3U}) {
    SmallPlan how{.strategy = "sorted",
                  .packs = std::vector<Lengths>(n_packs, Lengths(14210, 1)),
                  .iterations = {Packs(n_packs)},
                  .capacity_tokens = 1 << 24,
                  .micro_batches_per_rank = n_packs,
                  .curriculum_iterations = 1};
    for (std::uint32_t i = 0; i < n_packs; ++i) how.iterations[0][i] = i;
    OwnTables plan = small_tables(how);
    plan.facts.padding = Padding::capacity;
    CHECK(
        plan.refusal() ==
        (n_packs == 2 ? "" : "iterations[0]: expected less than 2^63 token pairs, got 3999759419058421760"));
  }
}

TEST_CASE("Packs as packed follow each other, and so do neighbours, which begin where an iteration could") {
  const auto refusal_of = [](PackOrder order, const std::vector<Packs>& iterations) {
    return refusal_of_order(order, {2, 3, 4, 5}, iterations);
  };
  const auto is_other = [](const char* order, int place, int pack) {
    return "placed.pack[" + std::to_string(place) + "]: expected packs in the order " + order + ", got " +
           std::to_string(pack);
  };
  CHECK(refusal_of(PackOrder::as_packed, {{0, 1}, {2, 3}}) == "");
  CHECK(refusal_of(PackOrder::as_packed, {{2, 3}, {0, 1}}) == is_other("as_packed", 0, 2));
  CHECK(refusal_of(PackOrder::neighbours, {{0, 1}, {2, 3}}) == "");
  CHECK(refusal_of(PackOrder::neighbours, {{2, 3}, {0, 1}}) == "");
  CHECK(refusal_of(PackOrder::neighbours, {{1, 2}, {3, 0}}) == is_other("neighbours", 0, 1));
  CHECK(refusal_of(PackOrder::neighbours, {{0, 3}, {2, 1}}) == is_other("neighbours", 1, 3));
  CHECK(refusal_of(PackOrder::shuffled, {{1, 2}, {3, 0}}) == "");
}

namespace {

struct LastPacks {
  std::size_t n_packs;
  std::uint32_t whole;  // packs of an iteration
  LastIteration last_iteration;
  std::vector<Packs> iterations;
  std::int64_t n_dropped = 0;
  std::int64_t n_repeated = 0;
  PackOrder order = PackOrder::shuffled;
};

// Packs of 5 tokens.
std::string refusal_of_last(const LastPacks& how) {
  OwnTables plan = small_tables({.packs = std::vector<Lengths>(how.n_packs, Lengths{5}),
                                 .iterations = how.iterations,
                                 .micro_batches_per_rank = how.whole,
                                 .order = how.order,
                                 .last_iteration = how.last_iteration});
  plan.facts.dropped_packs = how.n_dropped;
  plan.facts.dropped_pack_tokens = 5 * how.n_dropped;
  plan.facts.repeated_packs = how.n_repeated;
  plan.facts.repeated_tokens = 5 * how.n_repeated;
  return plan.refusal();
}

}  // namespace

TEST_CASE("What epochs drop and repeat is only compared if their iterations are right") {
  OwnTables plan = small_tables({.strategy = "wlb", .packs = {{5}, {5}}, .iterations = {{0}, {1}}});
  CHECK(plan.refusal() == "");
  plan.facts.dropped_packs = 1;
  CHECK(plan.refusal() ==
        "facts: /dropped_packs: expected 0, the packs that are not trained, over all epochs, got 1");
  OwnTables twice = plan;
  twice.iterations.push_back(twice.iterations[0]);
  CHECK(twice.refusal() ==
        "iterations[2]: expected those of the first epoch, each once in every epoch, got 0");
  OwnTables other = plan;
  other.placed[1].pack = 0;
  CHECK(other.refusal() == "placed.pack[1]: expected a pack that the epoch trains once, got 0");
  OwnTables waiting = plan;
  waiting.placed[1].flags = 1;
  CHECK(waiting.refusal() ==
        "placed.flags[1]: expected what the round's first pack has, and 0 in the first round, got 1");
  OwnTables fewer = plan;
  fewer.iterations.pop_back();
  fewer.placed.pop_back();
  fewer.weights.pop_back();
  CHECK(fewer.refusal() == "placed: expected every pack in an iteration, got 1 in none");
}

TEST_CASE("An epoch has the iterations that the policy for last ones leaves") {
  using enum LastIteration;
  CHECK(refusal_of_last({3, 2, drop, {{0, 2}}, 1}) == "");
  CHECK(refusal_of_last({3, 2, drop, {{0, 2}, {1}}}) ==
        "iterations.n_placed[1]: expected 2 packs, a whole iteration of group 0, as last_iteration is drop, "
        "got 1");
  CHECK(refusal_of_last({4, 2, drop, {{0, 2}}, 2}) ==
        "iterations of epoch 0: expected 2 of group 0, as last_iteration is drop, got 1");
  CHECK(refusal_of_last({1, 2, drop, {}, 1}) == "");
  CHECK(refusal_of_last({3, 2, shorten, {{0, 2}, {1}}}) == "");
  CHECK(refusal_of_last({3, 2, shorten, {{1}, {0, 2}}}) ==
        "iterations[1]: expected whole iterations before shorter ones, got 1");
  CHECK(refusal_of_last({3, 2, shorten, {{1}, {0}}}) ==
        "iterations.n_placed[1]: expected 2 packs, a whole iteration of group 0, or 1, as last_iteration is "
        "shorten, "
        "got 1");
  CHECK(refusal_of_last({5, 3, shorten, {{0, 1, 2}, {3}}, 1}) ==
        "iterations.n_placed[1]: expected 3 packs, a whole iteration of group 0, or 2, as last_iteration is "
        "shorten, "
        "got 1");
  CHECK(refusal_of_last({1, 2, shorten, {{0}}}) == "");
  CHECK(refusal_of_last({3, 2, repeat, {{0, 2}, {1, 0}}, 0, 1}) == "");
  CHECK(refusal_of_last({3, 2, repeat, {{0, 1}, {2, 0}}, 0, 1, PackOrder::as_packed}) == "");
  CHECK(refusal_of_last({3, 2, repeat, {{2, 0}, {0, 1}}, 0, 1, PackOrder::neighbours}) == "");
  CHECK(refusal_of_last({1, 3, repeat, {{0, 0, 0}}, 0, 2}) == "");
  CHECK(refusal_of_last({3, 4, repeat, {{0, 0, 1, 2}}, 0, 1}) == "");
  CHECK(refusal_of_last({3, 4, repeat, {{0, 0, 1, 1}}, 1, 2}) ==
        "iterations of epoch 0: expected every pack, as last_iteration is repeat, got 1 packs less");
  CHECK(refusal_of_last({3, 4, repeat, {{0, 0, 0, 1}}, 1, 2}) ==
        "placed.pack[2]: expected a pack that the epoch trains at most 2 times, as last_iteration is repeat, "
        "got 0");
  CHECK(refusal_of_last({4, 2, repeat, {{0, 1}, {2, 3}, {0, 1}}, 0, 2}) ==
        "placed.pack[4]: expected a pack that the epoch trains at most 1 times, as last_iteration is repeat, "
        "got 0");
  CHECK(refusal_of_last({2, 2, repeat, {}, 2}) ==
        "iterations of epoch 0: expected some of 1 groups, got of 0");
}

}  // namespace packsim::testing
