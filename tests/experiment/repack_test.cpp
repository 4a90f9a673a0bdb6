// Packing anew in each epoch: what the epochs of such a run train, and what its result says of them.

#include "experiment/plans/repack.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "experiment/plans/new_packs.hpp"
#include "packing/options/shared_options.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

constexpr int kEpochs = 3;

// 120 samples, most of them short; with over-long ones, three that are longer than every pack.
std::string lengths_csv(bool with_over_long) {
  std::mt19937 generator(5);
  std::string text = "tokens\n";
  for (int i = 0; i < 120; ++i) {
    const std::uint32_t most = i % 20 == 0 ? 16384 : i % 4 == 0 ? 4096 : 700;
    text += std::to_string(1 + generator() % most) + "\n";
    if (with_over_long && i % 40 == 20) text += std::to_string(17000 + i) + "\n";
  }
  return text;
}

std::string entry(const Strategy& strategy) {
  std::string text = R"({"strategy": ")" + std::string(strategy.name) + "\"";
  if (strategy.takes_groups()) {
    text +=
        R"(, "groups": [{"capacity_tokens": 4096, "sp_degree": 1}, {"capacity_tokens": 16384, "sp_degree": 4}])";
  } else {
    text += R"(, "capacity_tokens": 16384)";
    if (!strategy.chooses_groups) text += R"(, "sp_degree": 2)";
  }
  return text + "}";
}

std::string all_entries() {
  std::string text;
  for (const Strategy& strategy : strategies()) text += (text.empty() ? "" : ",\n") + entry(strategy);
  return text;
}

std::string entries(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",\n") + entry(*find_strategy(name));
  return text;
}

struct Job {
  bool with_over_long = false;
  std::string packing = R"("last_iteration": "shorten")";
  std::string strategies = all_entries();
};

Scenario load_job(const TempFolder& folder, const Job& job) {
  folder.write("lengths.csv", lengths_csv(job.with_over_long));
  return load_scenario(
      folder.write("job.json",
                   R"({"format": 1, "name": "job", "model": "llama3.1-8b",
    "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 65536, "zero_stage": 3, "epochs": )" +
                       std::to_string(kEpochs) +
                       R"(}, "lengths": {"mix": [{"source": "lengths.csv"}]}, "packing": {)" + job.packing +
                       R"(}, "strategies": [)" + job.strategies + "]}"),
      packsim_test::kData);
}

StrategySpec repacked(const StrategySpec& spec) {
  StrategySpec own = spec;
  own.repack_each_epoch = true;
  return own;
}

// The run of epoch e alone.
PlannedStrategy plan_epoch(Scenario scenario, StrategySpec spec, int epoch,
                           std::span<const std::int32_t> lengths_tokens) {
  scenario.training.epochs = 1;
  spec.options.set(kSeed.name, static_cast<std::int64_t>(spec.options[kSeed]) + epoch);
  if (epoch > 0) spec.curriculum_iterations = 0;
  return plan_strategy(scenario, spec, lengths_tokens);
}

// A pack as it is trained: what it holds, how and where it runs.
using Trained = std::tuple<std::vector<ItemIndex>, std::int64_t, int, int, std::uint32_t, int, bool>;

std::vector<std::vector<Trained>> iterations_of(const PlannedStrategy& plan) {
  std::vector<std::vector<Trained>> iterations;
  for (const Iteration& iteration : plan.schedule.iterations) {
    std::vector<Trained>& packs = iterations.emplace_back();
    for (const PlacedPack& placed : plan.schedule.packs(iteration)) {
      const PlannedGroup& group = plan.groups[placed.group];
      const std::span<const ItemIndex> items = plan.packing.groups[placed.group][placed.pack];
      packs.emplace_back(std::vector(items.begin(), items.end()), group.capacity_tokens,
                         group.sequence.ulysses, group.sequence.ring, placed.first_gpu, placed.round,
                         placed.after_barrier);
    }
  }
  return iterations;
}

// [n_items] how often iterations train each item.
std::vector<int> times_trained(std::span<const std::vector<Trained>> iterations, std::size_t n_items) {
  std::vector<int> times(n_items);
  for (const std::vector<Trained>& packs : iterations) {
    for (const Trained& pack : packs) {
      for (const ItemIndex item : std::get<0>(pack)) ++times[item];
    }
  }
  return times;
}

// Items that are in some pack; the others were dropped.
std::vector<int> is_packed(const Packing& packing) {
  std::vector<int> packed(packing.lengths_tokens.size());
  for (const PackSet& group : packing.groups) {
    for (const ItemIndex item : group.items) packed[item] = 1;
  }
  return packed;
}

const StrategyResult& run_named(const Report& report, const std::string& name) {
  return *std::ranges::find(report.runs, name, &StrategyResult::name);
}

Report report_of(Scenario scenario, bool repacks, bool only_times = false) {
  for (StrategySpec& spec : scenario.strategies) spec.repack_each_epoch = repacks;
  return compare_strategies(scenario, {.n_threads = 2, .only_times = only_times, .progress = {}});
}

PackSet pack_set(const std::vector<std::vector<ItemIndex>>& packs) {
  PackSet set;
  for (const std::vector<ItemIndex>& items : packs) {
    set.items.insert(set.items.end(), items.begin(), items.end());
    set.close_pack();
  }
  return set;
}

Packing packing_of(std::vector<PackSet> groups) {
  Packing packing;
  packing.groups = std::move(groups);
  return packing;
}

}  // namespace

TEST_CASE("whatever the strategy, each epoch trains every sample once, in the packs of its own seed",
          "[plain]") {
  const TempFolder folder;
  for (const char* over_long : {"drop", "split"}) {
    const Scenario scenario = load_job(folder, {.with_over_long = true,
                                                .packing = R"("last_iteration": "shorten", "over_long": ")" +
                                                           std::string(over_long) + "\""});
    const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
    for (const StrategySpec& spec : scenario.strategies) {
      CAPTURE(over_long, spec.name);
      const PlannedStrategy run = plan_strategy(scenario, repacked(spec), drawn.lengths_tokens);
      const std::vector<std::vector<Trained>> iterations = iterations_of(run);
      REQUIRE(run.epochs);
      CHECK(run.epochs->n_epochs == kEpochs);
      CHECK(run.schedule.epochs == kEpochs);
      std::size_t first = 0;
      for (int epoch = 0; epoch < kEpochs; ++epoch) {
        const PlannedStrategy alone = plan_epoch(scenario, spec, epoch, drawn.lengths_tokens);
        const std::vector<std::vector<Trained>> of_epoch = iterations_of(alone);
        REQUIRE(first + of_epoch.size() <= iterations.size());
        const auto trained = std::span(iterations).subspan(first, of_epoch.size());
        CHECK(std::ranges::equal(trained, of_epoch));
        CHECK(times_trained(trained, run.packing.lengths_tokens.size()) == is_packed(alone.packing));
        first += of_epoch.size();
      }
      CHECK(first == iterations.size());
      // Groups are in ascending order, and each has the packs, batches and plans that belong together.
      CHECK(std::ranges::is_sorted(run.packing.capacities_tokens));
      CHECK(run.plans.size() == run.groups.size());
      for (std::size_t g = 0; g < run.groups.size(); ++g) {
        CHECK(run.groups[g].packs == static_cast<std::int64_t>(run.packing.groups[g].n_packs()));
        CHECK(run.groups[g].zero_stage == run.groups.front().zero_stage);
      }
    }
  }
}

TEST_CASE("packing anew trains and leaves out as many tokens as the same packs in every epoch", "[slow]") {
  const TempFolder folder;
  for (const auto& [last, over_long] :
       {std::pair{"shorten", "drop"}, std::pair{"drop", "split"}, std::pair{"repeat", "drop"}}) {
    const Scenario scenario = load_job(folder, {.with_over_long = true,
                                                .packing = R"("last_iteration": ")" + std::string(last) +
                                                           R"(", "over_long": ")" + over_long + "\""});
    const bool without_bounds = std::string(last) != "shorten";  // they take most of the time
    const Report same = report_of(scenario, false, without_bounds);
    const Report anew = report_of(scenario, true, without_bounds);
    for (const StrategyResult& run : anew.runs) {
      CAPTURE(last, over_long, run.name, run.failure.value_or(""));
      const StrategyResult& other = run_named(same, run.name);
      const DataCounts& counts = run.counts;
      CHECK(counts.trained_tokens + counts.dropped_tokens ==
            kEpochs * anew.lengths.n_tokens + counts.repeated_tokens);
      CHECK(counts.dropped_samples == other.counts.dropped_samples);
      CHECK(counts.split_samples == other.counts.split_samples);
      CHECK(counts.longest_tokens == other.counts.longest_tokens);
      const bool shortens = run.policies.last_iteration == LastIteration::shorten;
      if (shortens) CHECK(counts.trained_tokens == other.counts.trained_tokens);
      const bool has_as_many_packs = run.packs == kEpochs * other.packs;
      if (has_as_many_packs && !run.reordering) CHECK(run.iterations == other.iterations);
      // Of the same samples, whichever packs they are in.
      const bool have_bounds = run.bound && other.bound;
      if (have_bounds && shortens) CHECK(run.bound->gpu_days == Approx(other.bound->gpu_days).epsilon(0.02));
      if (run.bound && run.bound->above_fraction) CHECK(*run.bound->above_fraction >= 0);
    }
  }
}

TEST_CASE("a strategy that sorts packs alike in every epoch, one that shuffles does not") {
  const TempFolder folder;
  const Scenario sorting = load_job(folder, {.strategies = entries({"ffd", "bfd", "spfhp", "lpfhp"})});
  const Report same = report_of(sorting, false);
  for (const StrategyResult& run : report_of(sorting, true).runs) {
    CAPTURE(run.name);
    const StrategyResult& other = run_named(same, run.name);
    CHECK_FALSE(other.repacking);
    REQUIRE(run.repacking);
    CHECK(run.repacking->later_packs == (kEpochs - 1) * other.packs);
    CHECK(run.repacking->new_packs == 0);
    CHECK(run.packs == kEpochs * other.packs);
    CHECK(run.times->gpu_days == other.times->gpu_days);
    CHECK(run.balance->abr == other.balance->abr);
    CHECK(run.bound->gpu_days == other.bound->gpu_days);
  }
  const Report anew = report_of(load_job(folder, {.strategies = entries({"isf", "random", "none"})}), true);
  for (const char* name : {"isf", "random"}) {
    CAPTURE(name);
    const Repacking repacking = run_named(anew, name).repacking.value();
    CHECK(static_cast<double>(repacking.new_packs) >= 0.9 * static_cast<double>(repacking.later_packs));
  }
  // Packs of one sample are the same however it is shuffled.
  CHECK(run_named(anew, "none").repacking->new_packs == 0);
}

TEST_CASE("samples in data set order are packed alike in every epoch, whatever the strategy") {
  const TempFolder folder;
  const Scenario scenario = load_job(folder, {.packing = R"("shuffle": false)",
                                              .strategies = R"({"strategy": "isf", "capacity_tokens": 16384},
    {"name": "in_order", "strategy": "isf", "capacity_tokens": 16384, "order": "as_packed"})"});
  for (const StrategyResult& run : report_of(scenario, true).runs)
    CHECK(run.repacking.value().new_packs == 0);
}

TEST_CASE("packs are new if no earlier epoch has one of the same samples, in whatever order and group") {
  // Epoch 1 has the packs 2 1 in another group and 3 4 anew; epoch 2 has 0 3 of epoch 0 again, 4 1 2 anew.
  const Packing first = packing_of({pack_set({{0, 3}, {1, 2}}), pack_set({{4}})});
  const Packing second = packing_of({pack_set({{0}}), pack_set({{2, 1}, {3, 4}})});
  const Packing third = packing_of({pack_set({{3, 0}}), pack_set({{4, 1, 2}})});
  const std::vector<const Packing*> epochs = {&first, &second, &third};
  const Repacking counts = count_new_packs(epochs);
  CHECK(counts.later_packs == 3 + 2);
  CHECK(counts.new_packs == 2 + 1);
  CHECK(count_new_packs(std::span(epochs).first(1)).later_packs == 0);
}

TEST_CASE("with one epoch, packing anew changes nothing", "[plain]") {
  const TempFolder folder;
  Scenario scenario = load_job(folder, {.strategies = entries({"isf", "hbp", "wlb", "planner"})});
  scenario.training.epochs = 1;
  const Report same = report_of(scenario, false);
  const Report anew = report_of(scenario, true);
  for (std::size_t i = 0; i < same.runs.size(); ++i) {
    CHECK_FALSE(anew.runs[i].repacking);
    CHECK(anew.runs[i].packs == same.runs[i].packs);
    CHECK(anew.runs[i].times->gpu_days == same.runs[i].times->gpu_days);
  }
}

TEST_CASE("a curriculum is that of the first epoch") {
  const TempFolder folder;
  const Scenario scenario =
      load_job(folder, {.packing = R"("last_iteration": "shorten", "curriculum_iterations": 1)",
                        .strategies = R"({"strategy": "isf", "capacity_tokens": 16384},
    {"strategy": "wlb", "capacity_tokens": 16384})"});
  const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
  for (const StrategySpec& spec : scenario.strategies) {
    const PlannedStrategy run = plan_strategy(scenario, repacked(spec), drawn.lengths_tokens);
    CHECK(run.schedule.curriculum_iterations == 1);
    std::vector<std::vector<Trained>> epochs;
    for (int epoch = 0; epoch < kEpochs; ++epoch)
      std::ranges::move(iterations_of(plan_epoch(scenario, spec, epoch, drawn.lengths_tokens)),
                        std::back_inserter(epochs));
    CHECK(iterations_of(run) == epochs);
  }
}

TEST_CASE("reordering distances are those of each epoch from its own shuffle") {
  const TempFolder folder;
  const Scenario scenario =
      load_job(folder, {.strategies = entries({"isf", "wlb", "verl_kk", "megatron_dynamic_cp", "flexsp"})});
  const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
  const Report anew = report_of(scenario, true);
  for (const StrategySpec& spec : scenario.strategies) {
    CAPTURE(spec.name);
    const StrategyResult& run = run_named(anew, spec.name);
    CHECK(run.reordering.has_value() == forms_iterations(spec));
    if (!run.reordering) continue;
    double sum = 0;
    std::int64_t largest = 0;
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      StrategySpec own = spec;
      own.options.set(kSeed.name, static_cast<std::int64_t>(spec.options[kSeed]) + epoch);
      const PlannedStrategy alone = plan_epoch(scenario, spec, epoch, drawn.lengths_tokens);
      const OrderMoves moves = order_moves(alone.packing, own.options);
      sum += moves.mean_move_iterations;
      largest = std::max(largest, moves.largest_move_iterations);
    }
    CHECK(run.reordering->mean_iterations == Approx(sum / kEpochs));
    CHECK(run.reordering->largest_iterations == largest);
  }
}

TEST_CASE("solved batches of all epochs are charged each where it is trained") {
  const TempFolder folder;
  const Scenario scenario = load_job(
      folder,
      {.packing = R"("last_iteration": "shorten", "batch_tokens": 65536, "solve_nodes": 5)",
       .strategies = R"({"strategy": "flexsp", "integer_programs": true, "order": "shuffled", "groups":
    [{"capacity_tokens": 4096, "sp_degree": 1}, {"capacity_tokens": 16384, "sp_degree": 4}]})"});
  const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
  const StrategySpec& spec = scenario.strategies.front();
  const PlannedStrategy run = plan_strategy(scenario, repacked(spec), drawn.lengths_tokens);
  std::vector<std::int64_t> batches;
  std::int64_t first_batch = 0;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const PlannedStrategy alone = plan_epoch(scenario, spec, epoch, drawn.lengths_tokens);
    for (const SolveRecord& solve : alone.solves) batches.push_back(first_batch + solve.batch);
    first_batch += static_cast<std::int64_t>(alone.packing.planned.iterations.size());
  }
  REQUIRE_FALSE(batches.empty());
  CHECK(run.packing.planned.iterations.size() == static_cast<std::size_t>(first_batch));
  REQUIRE(run.solves.size() == batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) CHECK(run.solves[i].batch == batches[i]);
  CHECK(report_of(scenario, true).runs.front().measured.planning_exposed_s);
}

TEST_CASE("a searched plan, too, is packed anew in each epoch", "[plain]") {
  const TempFolder folder;
  const Scenario scenario =
      load_job(folder, {.packing = R"("plan": "auto", "last_iteration": "shorten", "capacity_tokens": 16384,
        "tp_degrees": [1], "pp_degrees": [1], "checkpointing_kinds": ["full"], "offloads": ["none"])",
                        .strategies = R"({"strategy": "isf", "zero_stages": [2, 3]},
    {"strategy": "planner", "zero_stages": [2, 3]}, {"strategy": "hbp", "zero_stages": [3]})"});
  const Report same = report_of(scenario, false);
  const Report anew = report_of(scenario, true);
  for (const StrategyResult& run : anew.runs) {
    const StrategyResult& other = run_named(same, run.name);
    CAPTURE(run.name, run.failure.value_or(""));
    REQUIRE(run.search);
    REQUIRE(run.repacking);
    CHECK(run.repacking->new_packs > 0);
    CHECK(run.counts.trained_tokens == other.counts.trained_tokens);
    CHECK(run.search->chosen.gpu_days == other.search->chosen.gpu_days);
    CHECK(run.times->gpu_days == Approx(other.times->gpu_days).epsilon(0.1));
  }
}

TEST_CASE("a job that fits in no GPU says what is missing, in each epoch alike") {
  const TempFolder folder;
  Scenario scenario =
      load_job(folder, {.strategies = R"({"strategy": "planner", "capacity_tokens": 16384})"});
  scenario.cluster.gpu.memory_bytes /= 40;
  const StrategyResult run = report_of(scenario, true).runs.front();
  CHECK_FALSE(run.feasible);
  CHECK(run.repacking.value().new_packs == 0);
}

TEST_CASE("more samples over all epochs than 32 bits count are refused before they are packed") {
  const TempFolder folder;
  Scenario scenario = load_job(folder, {.strategies = R"({"strategy": "isf", "capacity_tokens": 16384})"});
  scenario.training.epochs = 4295;
  const std::vector<std::int32_t> lengths(1'000'000, 1);
  CHECK_THROWS_WITH(
      plan_strategy(scenario, repacked(scenario.strategies.front()), lengths),
      "repack_each_epoch: expected at most 4294967295 samples over all epochs, which makes 4294 "
      "epochs of 1000000, got 4295");
}

}  // namespace packsim
