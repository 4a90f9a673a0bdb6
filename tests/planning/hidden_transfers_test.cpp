// Transfers that computation hides: those of a ring beside attention, and those of a step beside its first
// and last packs.

#include <array>
#include <catch2/catch.hpp>

#include "packing/pack.hpp"
#include "packing/planner/small_jobs/small_job.hpp"

using namespace packsim;

namespace {

// On one GPU a document of 100 tokens takes 8 s and 8 s of attention. On two it takes 14 s, of which 6 s are
// transfers, and 4 s of attention.
BatchSetting ring_setting(double hiding_fraction) {
  BatchSetting setting;
  setting.n_gpus = 2;
  setting.tokens_per_iteration = 100;
  setting.groups = {{.capacity_tokens = 100, .gpus_per_pack = 1},
                    {.capacity_tokens = 200, .gpus_per_pack = 2}};
  setting.groups[0].cost = {.tokens_s = {.tokens = {0, 100}, .time_s = {0, 8}},
                            .document_s = {.tokens = {0, 100}, .time_s = {0, 8}}};
  setting.groups[1].cost = {.tokens_s = {.tokens = {0, 100}, .time_s = {0, 14}},
                            .document_s = {.tokens = {0, 100}, .time_s = {0, 4}},
                            .transfers_s = {.tokens = {0, 100}, .time_s = {0, 6}},
                            .hiding_fraction = hiding_fraction};
  return setting;
}

// GPUs of the pack that the planner makes of one document of 100 tokens.
int chosen_degree(const BatchSetting& setting) {
  const std::array<std::int32_t, 1> lengths = {100};
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {100, 200}, .setting = &setting};
  const Packing packing = pack("planner", request);
  return setting.groups[packing.planned.placed.at(0).group].gpus_per_pack;
}

// A pack of 30 tokens takes 3 s, one of 60 takes 8 s.
BatchSetting short_packs(double hidden_s, bool rounds_in_step) {
  BatchSetting setting;
  setting.tokens_per_iteration = 60;
  setting.hidden_s = hidden_s;
  setting.rounds_in_step = rounds_in_step;
  setting.groups = {{.capacity_tokens = 60, .gpus_per_pack = 1}};
  setting.groups[0].cost = {.tokens_s = {.tokens = {0, 30, 60}, .time_s = {0, 3, 8}}, .document_s = {}};
  return setting;
}

// The iteration of two samples of 30 tokens, from one in which each has its own pack.
ComposedIteration two_samples(const BatchSetting& setting) {
  const DegreeCosts costs(setting.groups);
  const std::array<std::int32_t, 2> lengths = {30, 30};
  const std::array<ItemIndex, 2> items = {0, 1};
  ComposedIteration given;
  for (const ItemIndex item : items)
    given.packs.push_back({.degree = 0, .first_gpu = 0, .round = 0, .time_s = 0, .items = {item}});
  const BatchProblem problem{.items = {.lengths_tokens = lengths, .capacity_tokens = 60}, .setting = setting};
  return plan_small_job(problem, costs, items, {&given, 1}, {.most_tokens = 60, .fewest = 1}).at(0);
}

}  // namespace

TEST_CASE("Attention hides the transfers of a ring, up to its share and to what is sent") {
  const std::array<std::int32_t, 1> one = {100};
  const std::array<std::int32_t, 2> two = {50, 50};
  CHECK(pack_time_s(ring_setting(0).groups[1].cost, one) == Approx(14 + 4));
  CHECK(pack_time_s(ring_setting(0.5).groups[1].cost, one) == Approx(14 + 4 - 0.5 * 4));
  CHECK(pack_time_s(ring_setting(1).groups[1].cost, one) == Approx(14 + 4 - 4));
  // Twice the attention could hide 8 s, but only 6 are sent.
  CHECK(pack_time_s(ring_setting(2).groups[1].cost, one) == Approx(14 + 4 - 6));
  CHECK(pack_time_s(ring_setting(1).groups[1].cost, two) == Approx(14 + 4 - 4));
  // The planner's own sums are the same.
  for (const double fraction : {0.0, 0.5, 1.0, 2.0}) {
    const BatchSetting setting = ring_setting(fraction);
    const DegreeCosts costs(setting.groups);
    CHECK(costs.pack_s(1, one) == Approx(pack_time_s(setting.groups[1].cost, one)));
    CHECK(costs.alone_s(1, 100) == Approx(pack_time_s(setting.groups[1].cost, one)));
  }
}

TEST_CASE("A ring is chosen where attention hides enough of its transfers") {
  // One GPU takes 8 + 8 s; two take 18, 16.4 and 14 s.
  CHECK(chosen_degree(ring_setting(0)) == 1);
  CHECK(chosen_degree(ring_setting(0.4)) == 1);
  CHECK(chosen_degree(ring_setting(1)) == 2);
}

TEST_CASE("An iteration is longer by what its first and last packs are too short to hide") {
  // A third of the first pack and two thirds of the last hide it: 3 s of two packs, 8 s of one.
  for (const bool rounds_in_step : {false, true}) {
    CAPTURE(rounds_in_step);
    const auto time_s = [&](double hidden_s, bool is_one_pack) {
      const BatchSetting setting = short_packs(hidden_s, rounds_in_step);
      const DegreeCosts costs(setting.groups);
      IterationTimer timer(setting, costs);
      const std::array<TimedPack, 2> packs = {{{0, 3}, {0, 3}}};
      const std::array<TimedPack, 1> pack = {{{0, 8}}};
      return is_one_pack ? timer.place(pack) : timer.place(packs);
    };
    CHECK(time_s(0, false) == Approx(3 + 3));
    CHECK(time_s(3, false) == Approx(3 + 3));
    CHECK(time_s(6, false) == Approx(3 + 3 + 6 - 3));
    CHECK(time_s(6, true) == Approx(8));
    CHECK(time_s(10, true) == Approx(8 + 10 - 8));
  }
}

TEST_CASE("Samples share a pack where two packs are too short to hide what a step sends") {
  for (const bool rounds_in_step : {false, true}) {
    CAPTURE(rounds_in_step);
    // Two packs take 6 s and one 8 s.
    const ComposedIteration apart = two_samples(short_packs(0, rounds_in_step));
    CHECK(apart.packs.size() == 2);
    CHECK(apart.time_s == Approx(6));
    // Two take 6 + 3 s.
    const ComposedIteration together = two_samples(short_packs(6, rounds_in_step));
    CHECK(together.packs.size() == 1);
    CHECK(together.time_s == Approx(8));
  }
}
