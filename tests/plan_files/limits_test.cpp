// Numbers of a schedule file at their limits, which opening it accepts, and one beyond, which it refuses.

#include <catch2/catch.hpp>
#include <functional>

#include "plan_files/plan_view.hpp"
#include "tests/plan_files/made_plans.hpp"
#include "tests/plan_files/own_tables.hpp"

namespace packsim::testing {
namespace {

// A plan of two groups whose samples are cut: on 4 GPUs, 2 for a pack, with every table.
OwnTables full_tables() {
  const auto bytes = make_plan({.strategy = "hbp",
                                .n_samples = 40,
                                .over_long = OverLong::split,
                                .longest_tokens = 150,
                                .gpus_per_pack = 2,
                                .says_loss_tokens = true})
                         .bytes();
  return OwnTables(*PlanView::of_bytes(bytes));
}

// What opening such a file says of it: a line for each mistake.
std::string mistakes_of(const OwnTables& plan) {
  std::string text;
  for (const std::string& mistake : table_mistakes(plan.tables()))
    text += (text.empty() ? "" : "\n") + mistake;
  return text;
}

// A plan of which only the facts are looked at: one group without packs.
OwnTables without_packs() {
  OwnTables plan{PlanTables{}};
  plan.groups = {{.capacity_tokens = 1}};
  plan.pack_offsets = {0};
  return plan;
}

struct Range {
  std::string place;
  std::int64_t least;
  std::int64_t most;
  std::function<void(OwnTables&, std::int64_t)> set;
  std::string unit = "";
};

std::vector<Range> ranges() {
  const auto fact = [](const char* key, std::int64_t least, std::int64_t most, auto PlanFacts::*member) {
    return Range{std::string("facts: /") + key, least, most, [=](OwnTables& plan, std::int64_t value) {
                   using Number = std::remove_reference_t<decltype(plan.facts.*member)>;
                   plan.facts.*member = static_cast<Number>(value);
                 }};
  };
  constexpr int kGpus = 1 << 20;
  return {
      fact("n_gpus", 1, kGpus, &PlanFacts::n_gpus),
      fact("tp_degree", 1, kGpus, &PlanFacts::tp_degree),
      fact("pp_degree", 1, kGpus, &PlanFacts::pp_degree),
      fact("zero_stage", 0, 3, &PlanFacts::zero_stage),
      fact("epochs", 1, 1 << 16, &PlanFacts::epochs),
      fact("tokens_per_iteration", 0, 1'000'000'000'000, &PlanFacts::tokens_per_iteration),
      fact("pad_multiple_tokens", 1, 1 << 24, &PlanFacts::pad_multiple_tokens),
      // 2^20, as the file has no item.
      {"facts: /n_samples", 0, 1 << 20,
       [](OwnTables& plan, std::int64_t value) { plan.facts.counts.n_samples = value; }},
      {"groups.capacity_tokens[0]", 1, 1 << 24,
       [](OwnTables& plan, std::int64_t value) { plan.groups[0].capacity_tokens = value; }},
      {"groups.micro_batches_per_rank[0]", 1, 65536,
       [](OwnTables& plan, std::int64_t value) {
         plan.groups[0].micro_batches_per_rank = static_cast<std::uint32_t>(value);
       }},
  };
}

}  // namespace

TEST_CASE("A number of a plan may be anything from its least to its most, and nothing beyond") {
  for (const Range& range : ranges()) {
    CAPTURE(range.place);
    for (const std::int64_t value : {range.least, range.most}) {
      OwnTables plan = without_packs();
      range.set(plan, value);
      CHECK(mistakes_of(plan) == "");
    }
    for (const std::int64_t value : {range.least - 1, range.most + 1}) {
      OwnTables plan = without_packs();
      range.set(plan, value);
      CHECK(mistakes_of(plan) == range.place + ": expected " + std::to_string(range.least) + ".." +
                                     std::to_string(range.most) + ", got " + std::to_string(value));
    }
  }
}

TEST_CASE("Of cut samples, 2^20 may be left out and 64 for each item") {
  OwnTables plan = without_packs();
  plan.lengths_tokens = {1, 1, 1};
  plan.piece_samples = {0, 1, 2};
  plan.piece_starts = {0, 0, 0};
  plan.facts.counts.n_samples = (1 << 20) + 64 * 3 + 3;
  CHECK(mistakes_of(plan) == "");
  ++plan.facts.counts.n_samples;
  CHECK(mistakes_of(plan) == "facts: /n_samples: expected 0..1048771, got 1048772");
}

TEST_CASE("A plan has one to 65536 groups, which recompute up to 65536 layers") {
  OwnTables plan = without_packs();
  plan.groups.assign(65536, {.capacity_tokens = 1, .gc_layers = 65536});
  CHECK(mistakes_of(plan) == "");
  plan.groups[65535].gc_layers = 65537;
  CHECK(mistakes_of(plan) == "groups.gc_layers[65535]: expected 0..65536 layers, got 65537");
  plan.groups.push_back({});
  CHECK(mistakes_of(plan) == "groups: expected at most 65536, got 65537");
  plan.groups.clear();
  CHECK(mistakes_of(plan) == "groups: expected at least one, got none");
}

TEST_CASE("The GPUs of a pack divide those of the plan") {
  for (const std::uint32_t gpus : {0U, 1U, 2U, 3U, 4U, 5U, 8U}) {
    OwnTables plan = without_packs();
    plan.facts.n_gpus = 4;
    plan.groups[0].sp_degree = gpus;
    const bool is_divisor = gpus == 1 || gpus == 2 || gpus == 4;
    CHECK(mistakes_of(plan) == (is_divisor
                                    ? ""
                                    : "groups.sp_degree * cp_degree[0]: expected a divisor of 4 GPUs, got " +
                                          std::to_string(gpus)));
  }
}

namespace {

// A change of full_tables(), and what opening says; empty: it is accepted.
struct Change {
  std::function<void(OwnTables&)> make;
  std::string mistakes;
};

void check_all(const std::vector<Change>& changes) {
  REQUIRE(mistakes_of(full_tables()) == "");
  for (const Change& change : changes) {
    OwnTables plan = full_tables();
    change.make(plan);
    CHECK(mistakes_of(plan) == change.mistakes);
  }
}

}  // namespace

TEST_CASE("Every index of a plan's tables is held to what it points into, up to its last element") {
  const OwnTables whole = full_tables();
  const std::size_t n_items = whole.lengths_tokens.size();
  const std::size_t n_placed = whole.placed.size();
  const std::size_t last = whole.iterations.size() - 1;
  const std::string items = std::to_string(n_items);
  const std::string placed = std::to_string(n_placed);
  check_all({
      {[](OwnTables& plan) { ++plan.groups[1].first_pack; },
       "groups.first_pack[1]: expected " + std::to_string(whole.groups[0].n_packs) + ", got " +
           std::to_string(whole.groups[0].n_packs + 1)},
      {[](OwnTables& plan) { plan.pack_offsets[2] = plan.pack_offsets[1]; },
       "pack_offsets[2]: expected more than the one before, got " + std::to_string(whole.pack_offsets[1])},
      {[](OwnTables& plan) { plan.pack_items.pop_back(); },
       "pack_items: expected " + items + " elements, got " + std::to_string(n_items - 1)},
      {[&](OwnTables& plan) { plan.pack_items[0] = static_cast<std::uint32_t>(n_items); },
       "pack_items[0]: expected an item of " + items + ", got " + items},
      {[&](OwnTables& plan) { plan.pack_items[0] = static_cast<std::uint32_t>(n_items - 1); }, ""},
      {[](OwnTables& plan) { plan.lengths_tokens[3] = plan.loss_tokens[3] = 0; }, ""},
      {[](OwnTables& plan) { plan.lengths_tokens[3] = -1, plan.loss_tokens[3] = 0; },
       "lengths_tokens[3]: expected >= 0, got -1\nloss_tokens[3]: expected 0 to the item's length, got 0"},
      {[](OwnTables& plan) { plan.loss_tokens[3] = plan.lengths_tokens[3]; }, ""},
      {[](OwnTables& plan) { plan.loss_tokens[3] = plan.lengths_tokens[3] + 1; },
       "loss_tokens[3]: expected 0 to the item's length, got " + std::to_string(whole.lengths_tokens[3] + 1)},
      {[](OwnTables& plan) { plan.loss_tokens[3] = -1; },
       "loss_tokens[3]: expected 0 to the item's length, got -1"},
      {[](OwnTables& plan) { plan.loss_tokens.push_back(-1); },
       "loss_tokens: expected " + items + " elements, got " + std::to_string(n_items + 1)},
      {[](OwnTables& plan) { plan.piece_samples.clear(); },
       "piece_samples: expected " + items + " elements, got 0"},
      {[](OwnTables& plan) { plan.piece_starts.clear(); },
       "piece_starts: expected " + items + " elements, got 0"},
      {[](OwnTables& plan) { plan.piece_samples[2] = 39; }, ""},
      {[](OwnTables& plan) { plan.piece_samples[2] = 40; },
       "piece_samples[2]: expected a sample of 40, got 40"},
      {[](OwnTables& plan) { plan.piece_starts[2] = 2147483647 - plan.lengths_tokens[2]; }, ""},
      {[](OwnTables& plan) {
         plan.piece_starts[2] = 2147483647, plan.lengths_tokens[2] = 1, plan.loss_tokens[2] = 1;
       },
       "piece_starts[2]: expected a token that a sample can have, got 2147483647"},
      {[](OwnTables& plan) { plan.piece_starts[2] = -1; },
       "piece_starts[2]: expected a token that a sample can have, got -1"},
      {[](OwnTables& plan) { plan.weights.push_back(0); },
       "weights: expected " + placed + " elements, got " + std::to_string(n_placed + 1)},
      {[](OwnTables& plan) { plan.weights[0] = 0; }, ""},
      {[=](OwnTables& plan) {
         plan.iterations[last] = {static_cast<std::uint32_t>(n_placed), 1};
       },
       "iterations[" + std::to_string(last) + "]: expected packs of " + placed + " placed ones, got " +
           placed},
      {[=](OwnTables& plan) { plan.iterations[last].n_placed = static_cast<std::uint32_t>(n_placed); },
       "iterations[" + std::to_string(last) + "]: expected packs of " + placed + " placed ones, got " +
           std::to_string(whole.iterations[last].first_placed)},
      {[=](OwnTables& plan) {
         plan.iterations[last] = {0, 0};
       },
       "iterations[" + std::to_string(last) + "]: expected packs of " + placed + " placed ones, got 0"},
      {[](OwnTables& plan) { plan.placed[0].group = 1, plan.placed[0].pack = plan.groups[1].n_packs; },
       "placed.pack[0]: expected one of " + std::to_string(whole.groups[1].n_packs) + ", got " +
           std::to_string(whole.groups[1].n_packs)},
      {[](OwnTables& plan) { plan.placed[0].group = 2; }, "placed.group[0]: expected one of 2, got 2"},
      {[](OwnTables& plan) { plan.placed[0].first_gpu = 3; },
       "placed.first_gpu[0]: expected a multiple of 2 below 4, got 3"},
      {[](OwnTables& plan) { plan.placed[0].first_gpu = 4; },
       "placed.first_gpu[0]: expected a multiple of 2 below 4, got 4"},
      {[](OwnTables& plan) { std::swap(plan.placed[0].first_gpu, plan.placed[1].first_gpu); }, ""},
      {[=](OwnTables& plan) {
         std::swap(plan.placed[0].first_gpu, plan.placed[1].first_gpu);
         plan.placed[n_placed - 1].flags = 2;  // in a later round
       },
       "placed.flags[" + std::to_string(n_placed - 1) + "]: expected 0 or 1, got 2"},
      {[](OwnTables& plan) { plan.placed[0].first_gpu = plan.placed[1].first_gpu; },
       "placed[1]: expected a GPU without another pack in the round, got 2"},
      {[=](OwnTables& plan) {
         plan.placed[n_placed - 1].first_gpu = plan.placed[n_placed - 2].first_gpu = 0;
       },
       "placed[" + std::to_string(n_placed - 1) +
           "]: expected a GPU without another pack in the round, got 0"},
      {[](OwnTables& plan) { plan.placed[0].flags = 1; }, ""},
      {[](OwnTables& plan) { plan.placed[0].flags = 2; }, "placed.flags[0]: expected 0 or 1, got 2"},
      {[](OwnTables& plan) { plan.placed[0].round = 1; },
       "placed.round[1]: expected rounds ascending, got 0"},
  });
}

TEST_CASE("What lies behind the end of a table is not read") {
  OwnTables plan = full_tables();
  const std::size_t n_groups = plan.groups.size();
  const auto add_last_again = [](auto& table) { table.push_back(table.back()); };
  add_last_again(plan.groups);
  add_last_again(plan.iterations);
  add_last_again(plan.placed);
  add_last_again(plan.weights);
  add_last_again(plan.pack_offsets);
  add_last_again(plan.pack_items);
  add_last_again(plan.lengths_tokens);
  add_last_again(plan.piece_samples);
  add_last_again(plan.piece_starts);
  plan.loss_tokens.push_back(-1);
  PlanTables tables = plan.tables();
  const auto without_last = [](auto& table) { table = table.first(table.size() - 1); };
  without_last(tables.groups);
  without_last(tables.iterations);
  without_last(tables.placed);
  without_last(tables.weights);
  without_last(tables.pack_offsets);
  without_last(tables.pack_items);
  without_last(tables.lengths_tokens);
  without_last(tables.piece_samples);
  without_last(tables.piece_starts);
  without_last(tables.loss_tokens);
  REQUIRE(tables.groups.size() == n_groups);
  CHECK(table_mistakes(tables).empty());
  CHECK(broken_promises(tables).empty());
  // A table of loss tokens that is too short is compared up to its end.
  without_last(tables.loss_tokens);
  plan.loss_tokens[tables.loss_tokens.size()] = -1;
  CHECK(table_mistakes(tables) ==
        std::vector{"loss_tokens: expected " + std::to_string(tables.lengths_tokens.size()) +
                    " elements, got " + std::to_string(tables.loss_tokens.size())});
}

// Six placed packs on one GPU, each in a round of its own.
TEST_CASE("Iterations divide the placed packs") {
  const auto mistakes_of_iterations = [](const std::vector<PlanIteration>& iterations) {
    OwnTables plan{PlanTables{}};
    plan.groups = {{.capacity_tokens = 1, .n_packs = 1}};
    plan.lengths_tokens = {1};
    plan.facts.counts.n_samples = 1;
    plan.pack_offsets = {0, 1};
    plan.pack_items = {0};
    for (std::uint16_t i = 0; i < 6; ++i) plan.placed.push_back({.round = i});
    plan.weights.assign(6, 1);
    plan.iterations = iterations;
    return mistakes_of(plan);
  };
  CHECK(mistakes_of_iterations({{0, 6}}) == "");
  CHECK(mistakes_of_iterations({{0, 1}, {1, 5}, {0, 1}}) == "");
  CHECK(mistakes_of_iterations({{3, 3}, {0, 3}}) == "");
  CHECK(mistakes_of_iterations({{0, 2}, {3, 3}}) == "placed[2]: expected one of an iteration, got 2");
  CHECK(mistakes_of_iterations({{1, 5}}) == "placed[0]: expected one of an iteration, got 0");
  CHECK(mistakes_of_iterations({{0, 5}}) == "placed[5]: expected one of an iteration, got 5");
  CHECK(mistakes_of_iterations({{0, 4}, {3, 3}}) == "placed[3]: expected one of one iteration, got 3");
  CHECK(mistakes_of_iterations({{0, 6}, {0, 5}}) == "iterations.n_placed[1]: expected 6, got 5");
  CHECK(mistakes_of_iterations({}) == "placed[0]: expected one of an iteration, got 0");
}

}  // namespace packsim::testing
