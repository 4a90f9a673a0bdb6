// Assignments against their checker, and plans of global batches against what they promise.

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include "packing/algorithms/global_batches.hpp"
#include "packing/batch_problem.hpp"
#include "packing/flexsp/buckets.hpp"
#include "packing/flexsp/local_search.hpp"
#include "tests/packing/flexsp_inputs.hpp"

namespace packsim::testing {
namespace {

AssignmentProblem random_problem(Generator& generator, std::size_t n_sequences, int n_gpus) {
  Lengths lengths = random_lengths(generator, n_sequences, 6000);
  std::ranges::sort(lengths);
  const flexsp::Bucketing bucketing = flexsp::bucket_lengths(lengths, std::min<std::size_t>(8, n_sequences));
  return assignment_problem(lengths, bucketing.ends, cluster_of(n_gpus, 4096, {1, 2, 4}));
}

// Takes the published warm start, and keeps count of what it was asked.
class StartSolver : public AssignmentSolver {
 public:
  std::optional<Assignment> solve(const AssignmentProblem& problem, const SolveLimits&,
                                  const std::optional<Assignment>& start) override {
    ++n_solves;
    if (start) CHECK(what_is_wrong(problem, *start) == "");
    return start;
  }
  int n_solves = 0;
};

class NoSolver : public AssignmentSolver {
 public:
  std::optional<Assignment> solve(const AssignmentProblem&, const SolveLimits&,
                                  const std::optional<Assignment>&) override {
    return std::nullopt;
  }
};

double slowest_s(const Lengths& lengths, const flexsp::Cluster& cluster,
                 const std::vector<flexsp::PlacedGroup>& groups) {
  double slowest = 0;
  for (const flexsp::PlacedGroup& group : groups) {
    Lengths own;
    for (const ItemIndex item : group.items) own.push_back(lengths[item]);
    slowest = std::max(slowest, cluster.kinds[group.kind].cost.group_s(own));
  }
  return slowest;
}

// Every item once, every group within its capacity and on GPUs of its own.
void check_batch(const Lengths& lengths, const flexsp::Cluster& cluster,
                 const flexsp::BatchSolution& solution) {
  std::vector<int> seen(lengths.size(), 0);
  double time_s = 0;
  for (const auto& groups : solution.micro_batches) {
    int last = 0;
    int next_gpu = groups.front().first_gpu;
    for (const flexsp::PlacedGroup& group : groups) {
      const flexsp::Cluster::Kind& kind = cluster.kinds[group.kind];
      std::int64_t tokens = 0;
      for (const ItemIndex item : group.items) {
        ++seen[item];
        tokens += lengths[item];
      }
      CHECK(!group.items.empty());
      CHECK(tokens <= kind.capacity_tokens);
      CHECK(group.first_gpu == next_gpu);
      CHECK(group.first_gpu % kind.gpus_per_pack == 0);
      CHECK(kind.gpus_per_pack >= last);
      last = kind.gpus_per_pack;
      next_gpu += kind.gpus_per_pack;
    }
    CHECK(next_gpu == cluster.n_gpus);
    time_s += slowest_s(lengths, cluster, groups);
  }
  CHECK(std::ranges::count(seen, 1) == std::ssize(seen));
  CHECK(time_s == Approx(solution.time_s).epsilon(1e-12));
}

}  // namespace

TEST_CASE("the checker of assignments finds what is wrong") {
  AssignmentProblem problem{.buckets = {{10, 2}, {30, 1}},
                            .degrees = {{1, 30, 1.0, {1.0, 4.0}}, {2, 60, 1.0, {0.5, 2.0}}},
                            .n_gpus = 2};
  check_problem(problem);
  using Group = Assignment::Group;
  const auto wrong = [&](std::vector<Group> groups, double makespan_s) {
    return what_is_wrong(problem, {.groups = std::move(groups), .makespan_s = makespan_s});
  };
  CHECK(wrong({Group{0, {2, 0}}, Group{0, {0, 1}}}, 5.0) == "");
  CHECK(wrong({Group{1, {2, 1}}}, 4.0) == "");
  CHECK(wrong({Group{1, {2, 1}}}, 3.0) == "its makespan is another");
  CHECK(wrong({Group{1, {1, 1}}}, 3.5) == "bucket 0 has 1 of 2 sequences placed");
  CHECK(wrong({Group{0, {1, 0}}, Group{0, {1, 1}}}, 6.0) == "group 1 is over its capacity");
  CHECK(wrong({Group{0, {0, 0}}, Group{1, {2, 1}}}, 4.0) == "group 0 has nothing to do");
  CHECK(wrong({Group{0, {2, 0}}, Group{1, {0, 1}}}, 3.0) == "it takes 3 GPUs");
  CHECK(wrong({Group{0, {3, -1}}}, 3.0) == "group 0 has a negative count");
  CHECK(wrong({Group{0, {1}}}, 3.0) == "group 0 has not one count a bucket");
  CHECK(wrong({Group{2, {2, 1}}}, 3.0) == "group 0 is of no degree");

  problem.degrees[1].gpus_per_pack = 3;
  CHECK_THROWS_AS(check_problem(problem), std::invalid_argument);
}

TEST_CASE("warm starts and the local search are right, the search is no worse, and none beats the bound") {
  Generator generator(3);
  int n_found = 0;
  int n_better = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    const AssignmentProblem problem = random_problem(generator, 1 + uniform_up_to(generator, 30), 16);
    const double bound_s = makespan_bound_s(problem);
    const std::optional<Assignment> found = local_search(problem);
    for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
      const std::optional<Assignment> start = homogeneous_start(problem, d);
      if (!start) continue;
      CHECK(what_is_wrong(problem, *start) == "");
      REQUIRE(found);
      CHECK(found->makespan_s <= start->makespan_s * (1 + 1e-9));
      n_better += found->makespan_s < 0.999 * start->makespan_s ? 1 : 0;
    }
    if (!found) continue;
    ++n_found;
    CHECK(what_is_wrong(problem, *found) == "");
    CHECK(found->makespan_s >= bound_s * (1 - 1e-12));
  }
  CHECK(n_found > 100);
  CHECK(n_better > 100);
}

TEST_CASE("a homogeneous start gives the longest sequence to the emptiest group") {
  // Two groups of one GPU; 30 and 20 tokens first, then 10 to the second group, 10 to whichever is first.
  const AssignmentProblem problem{
      .buckets = {{10, 2}, {20, 1}, {30, 1}}, .degrees = {{1, 40, 1.0, {1.0, 2.0, 3.0}}}, .n_gpus = 2};
  const std::optional<Assignment> start = homogeneous_start(problem, 0);
  REQUIRE(start);
  REQUIRE(start->groups.size() == 2);
  CHECK(start->groups[0].sequences == std::vector<std::int32_t>{1, 0, 1});
  CHECK(start->groups[1].sequences == std::vector<std::int32_t>{1, 1, 0});
  CHECK(start->makespan_s == Approx(1 + 4));
}

TEST_CASE("a global batch is planned whole, in aligned groups of ascending degree, at the time it says") {
  Generator generator(4);
  const flexsp::Cluster cluster = cluster_of(16, 4096, {1, 2, 4, 8});
  LocalSearchSolver solver;
  for (int repeat = 0; repeat < 40; ++repeat) {
    const Lengths lengths = random_lengths(generator, 1 + uniform_up_to(generator, 60), 9000);
    const flexsp::BatchSolution solution =
        plan_global_batch(lengths, all_items(lengths), cluster, {.seed = 7}, solver);
    check_batch(lengths, cluster, solution);
  }
}

TEST_CASE("skipping numbers of micro-batches that cannot win changes nothing") {
  Generator generator(5);
  const flexsp::Cluster cluster = cluster_of(8, 4096, {1, 2, 4});
  for (int repeat = 0; repeat < 30; ++repeat) {
    const Lengths lengths = random_lengths(generator, 5 + uniform_up_to(generator, 40), 9000);
    const std::vector<ItemIndex> items = all_items(lengths);
    LocalSearchSolver solver;
    const double best_s = plan_global_batch(lengths, items, cluster, {.seed = 7}, solver).time_s;
    double least_s = std::numeric_limits<double>::infinity();
    flexsp::Chunker chunker(lengths, items);
    const std::size_t fewest = chunker.fewest_chunks(cluster.capacity_tokens());
    for (std::size_t n = fewest; n < fewest + 5 && n <= items.size(); ++n) {
      double time_s = 0;
      bool all = true;
      for (std::vector<ItemIndex>& part : chunker.chunks(n)) {
        Lengths ascending;
        for (const ItemIndex item : part) ascending.push_back(lengths[item]);
        std::ranges::sort(ascending);
        const auto ends = flexsp::bucket_within(ascending, 16, cluster.capacity_tokens()).ends;
        const AssignmentProblem problem = assignment_problem(ascending, ends, cluster);
        const std::optional<Assignment> found = solver.solve(problem, {}, std::nullopt);
        all = all && found;
        if (found) time_s += found->makespan_s;
      }
      if (all) least_s = std::min(least_s, time_s);
    }
    // Sequences are no longer than their buckets' boundaries.
    CHECK(best_s <= least_s * (1 + 1e-9));
  }
}

TEST_CASE("more micro-batches are tried where none of the first have a solution") {
  // Three sequences, each over half of what the one group holds: only one at a time fits.
  const Lengths lengths = {3000, 3000, 3000};
  const flexsp::Cluster cluster = cluster_of(1, 5000, {1});
  StartSolver solver;
  const auto solution =
      plan_global_batch(lengths, all_items(lengths), cluster, {.micro_batch_tries = 1}, solver);
  CHECK(solution.micro_batches.size() == 3);
  check_batch(lengths, cluster, solution);

  NoSolver none;
  CHECK_THROWS_WITH(plan_global_batch(lengths, all_items(lengths), cluster, {}, none),
                    "flexsp: the solver found no assignment for a global batch");
  const Lengths long_one = {5001};
  CHECK_THROWS_WITH(plan_global_batch(long_one, all_items(long_one), cluster, {}, solver),
                    "flexsp: no group holds a sequence of 5001 tokens");
  CHECK(plan_global_batch(lengths, {}, cluster, {}, none).micro_batches.empty());
}

namespace {

BatchSetting setting_of(int n_gpus, const std::vector<int>& degrees, AssignmentSolver* solver) {
  BatchSetting setting{.groups = {}, .n_gpus = n_gpus, .tokens_per_iteration = 30000, .solver = solver};
  for (const int degree : degrees) {
    setting.groups.push_back({.capacity_tokens = 4096 * degree,
                              .gpus_per_pack = degree,
                              .cost = {.tokens_s = {{0, 1000}, {0.01, 0.11}}, .document_s = {}}});
  }
  return setting;
}

BatchPlan plan(const Lengths& lengths, const BatchSetting& setting, const OptionValues& options) {
  const BatchProblem problem{.items = {.lengths_tokens = lengths,
                                       .capacity_tokens = setting.groups.back().capacity_tokens,
                                       .options = options},
                             .setting = setting};
  return find_strategy("flexsp")->plan_batches(problem);
}

}  // namespace

TEST_CASE("flexsp plans every global batch as an iteration and places every pack once") {
  Generator generator(6);
  const Lengths lengths = random_lengths(generator, 400, 9000);
  LocalSearchSolver solver;
  const BatchSetting setting = setting_of(8, {1, 2, 4}, &solver);
  const BatchPlan made = plan(lengths, setting, {});
  for (const PlacedPack& placed : made.placed) CHECK(placed.after_barrier == (placed.round > 0));
  CHECK(made.iterations.size() ==
        global_batches({{.lengths_tokens = lengths, .capacity_tokens = 16384}, setting}).size());

  std::vector<int> seen(lengths.size(), 0);
  std::map<std::pair<int, std::uint32_t>, int> placed_packs;
  std::uint32_t next = 0;
  for (const Iteration& iteration : made.iterations) {
    CHECK(iteration.first_placed == next);
    next += iteration.n_placed;
    std::map<std::pair<int, std::uint32_t>, int> users;  // of a GPU in a round
    int last_round = 0;
    for (std::uint32_t i = iteration.first_placed; i < next; ++i) {
      const PlacedPack& placed = made.placed[i];
      CHECK(placed.round >= last_round);
      CHECK(placed.round <= last_round + 1);
      last_round = placed.round;
      ++placed_packs[{placed.group, placed.pack}];
      const auto degree = static_cast<std::uint32_t>(setting.groups[placed.group].gpus_per_pack);
      CHECK(placed.first_gpu % degree == 0);
      CHECK(placed.first_gpu + degree <= 8);
      for (std::uint32_t gpu = 0; gpu < degree; ++gpu) ++users[{placed.round, placed.first_gpu + gpu}];
      for (const ItemIndex item : made.groups[placed.group][placed.pack]) ++seen[item];
    }
    for (const auto& [gpu, n] : users) CHECK(n == 1);
  }
  CHECK(next == made.placed.size());
  CHECK(std::ranges::count(seen, 1) == std::ssize(seen));
  std::size_t n_packs = 0;
  for (const PackSet& group : made.groups) n_packs += group.n_packs();
  CHECK(placed_packs.size() == n_packs);

  CHECK(plan(lengths, setting, {}).placed == made.placed);
  OptionValues other;
  other.set("seed", 5);
  CHECK(plan(lengths, setting, other).placed != made.placed);
}

TEST_CASE("flexsp reads its options") {
  Generator generator(7);
  const Lengths lengths = random_lengths(generator, 60, 3000);
  LocalSearchSolver solver;
  const BatchSetting setting = setting_of(8, {1, 2, 4}, &solver);
  const auto packs_of_one_gpu = [&](auto change) {
    OptionValues options;
    change(options);
    return plan(lengths, setting, options).groups[0].n_packs();
  };
  CHECK(packs_of_one_gpu([](OptionValues&) {}) > 0);
  CHECK(packs_of_one_gpu([](OptionValues& o) { o.set("min_sp", 2); }) == 0);
  CHECK(packs_of_one_gpu([](OptionValues& o) { o.set("costs", "published_7b"); }) > 0);

  const auto refusal = [&](const BatchSetting& with, auto change) -> std::string {
    OptionValues options;
    change(options);
    try {
      plan(lengths, with, options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto as_is = [](OptionValues&) {};
  CHECK(refusal(setting_of(8, {1, 2, 4}, nullptr), as_is) ==
        "flexsp: the setting has no solver for its integer programs");
  CHECK(refusal(setting, [](OptionValues& o) { o.set("min_sp", 8); }) ==
        "flexsp: no group has min_sp = 8 GPUs");
  CHECK(refusal(setting, [](OptionValues& o) { o.set("costs", "guess"); }) ==
        "flexsp: unknown costs \"guess\"");
  BatchSetting unpriced = setting;
  unpriced.groups[0].cost = {};
  CHECK(refusal(unpriced, as_is) == "flexsp: costs \"profile\" need groups that are priced");
  CHECK(refusal(setting_of(6, {4}, &solver), as_is) ==
        "assignment problem: expected degrees of which each divides the next, and the last the number of "
        "GPUs, got 4 before 6");
}

}  // namespace packsim::testing
