// The curriculum: which iterations are first, that the rest is mixed, and that nothing else changes.

#include "packing/schedule/curriculum.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

#include "packing/algorithms/mersenne_twister.hpp"

namespace packsim::testing {
namespace {

using Groups = std::vector<std::vector<MicroBatch>>;

// Packs with this attention work.
std::vector<MicroBatch> packs_with_work(const std::vector<std::int64_t>& work) {
  std::vector<MicroBatch> batches;
  for (const std::int64_t pairs : work)
    batches.push_back({.tokens = 1, .attention_pairs = pairs, .computed_pairs = pairs});
  return batches;
}

Schedule schedule_of(const Groups& groups, const ScheduleOptions& options) {
  const std::vector<std::int64_t> capacities(groups.size(), 100);
  const std::vector<GroupParallelism> parallelism(groups.size());
  return make_schedule(groups, capacities, parallelism, options);
}

// The sum of the work of each iteration.
std::vector<std::int64_t> work_by_iteration(const Schedule& schedule, const Groups& groups) {
  std::vector<std::int64_t> result;
  for (const Iteration& iteration : schedule.iterations) {
    result.push_back(0);
    for (const PlacedPack& placed : schedule.packs(iteration))
      result.back() += groups[placed.group][placed.pack].computed_pairs;
  }
  return result;
}

std::vector<std::uint32_t> groups_by_iteration(const Schedule& schedule) {
  std::vector<std::uint32_t> result;
  for (const Iteration& iteration : schedule.iterations)
    result.push_back(schedule.packs(iteration).front().group);
  return result;
}

// How often each pack is trained: [group, pack].
std::map<std::pair<std::uint32_t, std::uint32_t>, int> uses(const Schedule& schedule) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> result;
  for (const Iteration& iteration : schedule.iterations) {
    for (const PlacedPack& placed : schedule.packs(iteration)) ++result[{placed.group, placed.pack}];
  }
  return result;
}

std::string refusal(const Groups& groups, const ScheduleOptions& options) {
  try {
    schedule_of(groups, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("of several groups, the curriculum trains the shortest, and the rest of the epoch is mixed") {
  const Groups groups = {packs_with_work(std::vector<std::int64_t>(60, 1)),
                         packs_with_work(std::vector<std::int64_t>(40, 9))};
  for (const PackOrder order : {PackOrder::shuffled, PackOrder::neighbours, PackOrder::balanced}) {
    CAPTURE(policy_name(kPackOrderNames, order));
    ScheduleOptions options{.order = order, .epochs = 2};
    const Schedule plain = schedule_of(groups, options);
    options.curriculum_iterations = 20;
    const Schedule schedule = schedule_of(groups, options);
    CHECK(schedule.curriculum_iterations == 20);
    const auto sequence = groups_by_iteration(schedule);
    REQUIRE(sequence.size() == 200);
    CHECK(std::count(sequence.begin(), sequence.begin() + 20, 0U) == 20);
    // 40 of the 80 iterations behind it are long: 20 expected in each half, with a standard deviation of
    // sqrt(40 x 1/2 x 1/2 x 40/79) = 2.3.
    const auto n_long = std::count(sequence.begin() + 20, sequence.begin() + 60, 1U);
    CHECK(n_long >= 20 - 9);
    CHECK(n_long <= 20 + 9);
    // The second epoch is the one without a curriculum, and every pack is trained as often.
    const auto plain_sequence = groups_by_iteration(plain);
    CHECK(std::equal(sequence.begin() + 100, sequence.end(), plain_sequence.begin() + 100));
    CHECK(uses(schedule) == uses(plain));
  }
}

TEST_CASE("of more short iterations than wanted, the curriculum takes those that stand first") {
  // One pack an iteration, of the groups 1 0 0 1 0. The first two of group 0 are the packs 1 and 2.
  Schedule schedule;
  schedule.groups.resize(2);
  const std::vector<std::uint16_t> group_of = {1, 0, 0, 1, 0};
  for (std::uint32_t i = 0; i < group_of.size(); ++i) {
    schedule.placed.push_back({.group = group_of[i]});
    schedule.iterations.push_back({.first_placed = i, .n_placed = 1});
  }
  const Groups groups = {packs_with_work({1}), packs_with_work({1})};
  MersenneTwister generator(1);
  std::vector<Iteration> iterations = schedule.iterations;
  start_with_curriculum(schedule, groups, ShortIterations::of_first_group, 2, generator, iterations);
  CHECK(iterations[0].first_placed == 1);
  CHECK(iterations[1].first_placed == 2);
}

TEST_CASE("long iterations that the curriculum displaces do not follow in one block") {
  const Groups groups = {packs_with_work(std::vector<std::int64_t>(800, 1)),
                         packs_with_work(std::vector<std::int64_t>(200, 9))};
  const auto sequence = groups_by_iteration(schedule_of(groups, {.curriculum_iterations = 400}));
  // Of the 600 iterations behind the curriculum a third is long: 33 of any 100, with a standard deviation of
  // sqrt(100 x 2/9 x 5/6) = 4.3.
  const auto n_long = std::count(sequence.begin() + 400, sequence.begin() + 500, 1U);
  CHECK(n_long >= 33 - 18);
  CHECK(n_long <= 33 + 18);
}

TEST_CASE("of one group, the curriculum's iterations are made of the packs with least work") {
  // 2 ranks and 3 iterations: 6 packs, of works 1 to 6, whatever the shuffle.
  std::vector<std::int64_t> work(20);
  for (std::size_t p = 0; p < work.size(); ++p) work[p] = static_cast<std::int64_t>((p * 7) % 20) + 1;
  const Groups groups = {packs_with_work(work)};
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const Schedule schedule =
        schedule_of(groups, {.n_gpus = 2, .curriculum_iterations = 3, .epochs = 2, .seed = seed});
    const auto by_iteration = work_by_iteration(schedule, groups);
    CHECK(by_iteration[0] + by_iteration[1] + by_iteration[2] == 1 + 2 + 3 + 4 + 5 + 6);
    const auto n_uses = uses(schedule);
    CHECK(std::ranges::all_of(n_uses, [](const auto& use) { return use.second == 2; }));
    CHECK(n_uses.size() == 20);
  }
}

TEST_CASE("iterations that are kept whole are put first by their work") {
  // In pack order, iterations of works 8 + 1, 2 + 2, 3 + 3 and 9 + 9: the least are 4, then 6, then 9.
  const Groups groups = {packs_with_work({8, 1, 2, 2, 3, 3, 9, 9})};
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    for (const std::int64_t n : {1, 2, 3, 4}) {
      const Schedule schedule = schedule_of(
          groups, {.n_gpus = 2, .order = PackOrder::neighbours, .curriculum_iterations = n, .seed = seed});
      auto first = work_by_iteration(schedule, groups);
      first.resize(static_cast<std::size_t>(n));
      std::ranges::sort(first);
      const std::vector<std::int64_t> least = {4, 6, 9, 18};
      CHECK(std::equal(first.begin(), first.end(), least.begin()));
    }
  }
}

TEST_CASE("iterations that a strategy has formed are put first by the work of all their packs") {
  // Iterations of group 0 alone, of both groups, and of group 1 alone: works 5 + 5, 1 + 2 and 4.
  const Groups groups = {packs_with_work({5, 5, 1}), packs_with_work({2, 4})};
  PlannedIterations planned;
  planned.placed = {{.pack = 0, .first_gpu = 0, .group = 0},
                    {.pack = 1, .first_gpu = 1, .group = 0},
                    {.pack = 2, .first_gpu = 0, .group = 0},
                    {.pack = 0, .first_gpu = 1, .group = 1},
                    {.pack = 1, .first_gpu = 0, .group = 1}};
  planned.iterations = {{0, 2}, {2, 2}, {4, 1}};
  const std::vector<GroupParallelism> parallelism(2);
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const Schedule schedule = make_schedule(
        planned, groups, parallelism, {.n_gpus = 2, .curriculum_iterations = 1, .epochs = 2, .seed = seed});
    REQUIRE(schedule.iterations.size() == 6);
    CHECK(work_by_iteration(schedule, groups).front() == 3);
    CHECK(schedule.curriculum_iterations == 1);
  }
  CHECK_THROWS_WITH(
      make_schedule(planned, groups, parallelism, {.n_gpus = 2, .curriculum_iterations = 4}),
      "curriculum_iterations: expected at most 3, the number of whole iterations of the strategy "
      "in an epoch, got 4");
  CHECK_THROWS_WITH(
      make_schedule(planned, groups, parallelism,
                    {.n_gpus = 2, .order = PackOrder::as_packed, .curriculum_iterations = 1}),
      "curriculum_iterations: expected 0 with the order as_packed, which no curriculum may change, got 1");
}

TEST_CASE("a curriculum of more iterations than there are is refused with their number") {
  // 2 ranks: 7 packs are 3 whole iterations, 5 packs are 2.
  const Groups one = {packs_with_work({1, 2, 3, 4, 5, 6, 7})};
  const Groups two = {packs_with_work({1, 2, 3, 4, 5}), packs_with_work({6, 7, 8, 9})};
  const auto options = [](std::int64_t n, LastIteration last) {
    return ScheduleOptions{.n_gpus = 2, .last_iteration = last, .curriculum_iterations = n};
  };
  for (const LastIteration last : {LastIteration::drop, LastIteration::shorten}) {
    CHECK(refusal(one, options(3, last)) == "accepted");
    CHECK(refusal(one, options(4, last)) ==
          "curriculum_iterations: expected at most 3, the number of whole iterations of the strategy in an "
          "epoch, got 4");
    CHECK(refusal(two, options(2, last)) == "accepted");
    CHECK(
        refusal(two, options(3, last)) ==
        "curriculum_iterations: expected at most 2, the number of whole iterations of the shortest group in "
        "an epoch, got 3");
  }
  // Filled up with a repeated pack, the fourth iteration is whole.
  CHECK(refusal(one, options(4, LastIteration::repeat)) == "accepted");
  CHECK(refusal({{}}, options(1, LastIteration::repeat)) ==
        "curriculum_iterations: expected at most 0, the number of whole iterations of the strategy in an "
        "epoch, got 1");
  CHECK(refusal(one, {.n_gpus = 2, .order = PackOrder::as_packed, .curriculum_iterations = 1}) ==
        "curriculum_iterations: expected 0 with the order as_packed, which no curriculum may change, got 1");
}

TEST_CASE("with a curriculum, every epoch trains, drops and repeats as many packs as without") {
  std::mt19937 generator(1);
  for (int trial = 0; trial < 200; ++trial) {
    Groups groups(1 + generator() % 2);
    for (auto& group : groups) {
      std::vector<std::int64_t> work(12 + generator() % 40);
      for (std::int64_t& pairs : work) pairs = generator() % 50;
      group = packs_with_work(work);
    }
    ScheduleOptions options;
    options.n_gpus = 1 + static_cast<int>(generator() % 3);
    options.order = kPackOrderNames[1 + generator() % 3].value;
    options.last_iteration = kLastIterationNames[generator() % 3].value;
    options.epochs = 1 + static_cast<int>(generator() % 3);
    options.seed = static_cast<std::uint32_t>(generator());
    const Schedule plain = schedule_of(groups, options);
    options.curriculum_iterations = 1 + static_cast<std::int64_t>(generator() % 4);
    const Schedule schedule = schedule_of(groups, options);
    INFO("trial " << trial);
    CHECK(uses(schedule) == uses(plain));
    CHECK(schedule.iterations.size() == plain.iterations.size());
    CHECK(schedule.dropped_packs == plain.dropped_packs);
    CHECK(schedule.repeated_packs == plain.repeated_packs);
    // Iterations of the curriculum have the least work of all whole iterations of the first epoch.
    if (groups.size() > 1) continue;
    const auto work = work_by_iteration(schedule, groups);
    const auto n = static_cast<std::size_t>(options.curriculum_iterations);
    const std::int64_t most = *std::max_element(work.begin(), work.begin() + static_cast<std::ptrdiff_t>(n));
    for (std::size_t i = n; i < work.size() / static_cast<std::size_t>(options.epochs); ++i) {
      if (schedule.iterations[i].n_placed == schedule.groups[0].packs_per_iteration()) CHECK(work[i] >= most);
    }
  }
}

}  // namespace packsim::testing
