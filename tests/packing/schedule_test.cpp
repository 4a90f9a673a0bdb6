// From packs to iterations: who trains what when, and what becomes of packs that are too few for an
// iteration.

#include "packing/schedule/schedule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "packing/schedule/metrics.hpp"
#include "packing/schedule/pack_use_counts.hpp"
#include "tests/packing/hand_packing.hpp"
#include "tests/packing/naive_packers.hpp"

namespace packsim::testing {
namespace {

using Groups = std::vector<std::vector<MicroBatch>>;
using Orders = std::vector<std::vector<std::uint32_t>>;

// Packs whose only property is their attention work.
std::vector<MicroBatch> packs_of_work(const std::vector<std::int64_t>& work) {
  std::vector<MicroBatch> batches;
  for (const std::int64_t pairs : work) {
    batches.push_back({.tokens = 1, .attention_pairs = pairs, .computed_pairs = pairs});
  }
  return batches;
}

Schedule one_group(const std::vector<MicroBatch>& batches, const ScheduleOptions& options) {
  const Groups groups = {batches};
  const std::vector<std::int64_t> capacities = {100};
  const std::vector<GroupParallelism> parallelism(1);
  return make_schedule(groups, capacities, parallelism, options);
}

Orders packs_by_iteration(const Schedule& schedule) {
  Orders result;
  for (const Iteration& iteration : schedule.iterations) {
    result.emplace_back();
    for (const PlacedPack& placed : schedule.packs(iteration)) result.back().push_back(placed.pack);
  }
  return result;
}

// The sum over iterations of the largest work when the packs are taken in this order, `ranks` at a time.
std::int64_t sum_of_maxima(const std::vector<std::uint32_t>& order, const std::vector<std::int64_t>& work,
                           std::size_t ranks) {
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += ranks) {
    std::int64_t most = 0;
    for (std::size_t i = begin; i < begin + ranks; ++i) most = std::max(most, work[order[i]]);
    sum += most;
  }
  return sum;
}

}  // namespace

TEST_CASE("in pack order, iterations take packs from the front, and a rest follows its policy") {
  const std::vector<MicroBatch> batches(7, MicroBatch{.tokens = 10});
  ScheduleOptions options{.n_gpus = 3, .order = PackOrder::as_packed};

  options.last_iteration = LastIteration::drop;  // 7 = 2 x 3 + 1
  Schedule schedule = one_group(batches, options);
  CHECK(packs_by_iteration(schedule) == Orders{{0, 1, 2}, {3, 4, 5}});
  CHECK(schedule.dropped_packs == 1);
  CHECK(schedule.dropped_tokens == 10);
  CHECK(schedule.repeated_packs == 0);

  options.last_iteration = LastIteration::repeat;  // two packs short
  schedule = one_group(batches, options);
  CHECK(packs_by_iteration(schedule) == Orders{{0, 1, 2}, {3, 4, 5}, {6, 0, 1}});
  CHECK(schedule.repeated_packs == 2);
  CHECK(schedule.repeated_tokens == 20);
  CHECK(schedule.dropped_packs == 0);

  options.last_iteration = LastIteration::shorten;
  schedule = one_group(batches, options);
  CHECK(packs_by_iteration(schedule) == Orders{{0, 1, 2}, {3, 4, 5}, {6}});
  CHECK(schedule.repeated_packs + schedule.dropped_packs == 0);
}

TEST_CASE("an iteration that is shortened ends its epoch, in every order and of every group") {
  // 7 packs of 3 ranks and 5 packs of 3 ranks leave iterations of 1 and of 2 packs.
  const Groups groups = {std::vector<MicroBatch>(7), std::vector<MicroBatch>(5)};
  const std::vector<std::int64_t> capacities = {10, 20};
  const std::vector<GroupParallelism> parallelism(2);
  for (const auto& order : kPackOrderNames) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
      const Schedule schedule = make_schedule(groups, capacities, parallelism,
                                              {.n_gpus = 3,
                                               .order = order.value,
                                               .last_iteration = LastIteration::shorten,
                                               .epochs = 2,
                                               .seed = seed});
      CAPTURE(order.name, seed);
      REQUIRE(schedule.iterations.size() == 2 * 5);
      for (const std::size_t epoch_end : {5, 10}) {
        for (std::size_t i = epoch_end - 5; i < epoch_end; ++i)
          CHECK((schedule.iterations[i].n_placed < 3) == (i >= epoch_end - 2));
      }
    }
  }
}

TEST_CASE("fewer packs than ranks are repeated until every rank has one") {
  const std::vector<MicroBatch> batches(2, MicroBatch{.tokens = 10});
  const Schedule schedule = one_group(batches, {.n_gpus = 5, .order = PackOrder::as_packed});
  CHECK(packs_by_iteration(schedule) == Orders{{0, 1, 0, 1, 0}});
  CHECK(schedule.repeated_packs == 3);
}

TEST_CASE("packs that fill whole iterations are neither dropped nor repeated") {
  const std::vector<MicroBatch> batches(6, MicroBatch{.tokens = 10});
  for (const auto& policy : kLastIterationNames) {
    const Schedule schedule = one_group(batches, {.n_gpus = 3, .last_iteration = policy.value});
    CHECK(schedule.iterations.size() == 2);
    CHECK(schedule.dropped_packs + schedule.repeated_packs == 0);
  }
}

TEST_CASE("rank r's micro-batch m is pack m * ranks + r") {
  // Two ranks, three micro-batches each: rank 0 trains packs 0, 2, 4 and rank 1 packs 1, 3, 5.
  const std::vector<MicroBatch> batches = packs_of_work({1, 20, 300, 4000, 50000, 600000});
  const Schedule schedule =
      one_group(batches, {.n_gpus = 2, .micro_batches_per_rank = 3, .order = PackOrder::as_packed});
  REQUIRE(schedule.iterations.size() == 1);
  CHECK(schedule.groups[0].packs_per_iteration() == 6);
  std::vector<double> work;
  attention_work(schedule, schedule.iterations[0], {{batches}}, work);
  CHECK(work == std::vector<double>{50301, 604020});
}

TEST_CASE("trained tokens are epochs x packed - dropped + repeated, and each pack is trained that often") {
  std::mt19937 generator(1);
  for (int trial = 0; trial < 200; ++trial) {
    Groups groups(2);
    for (auto& group : groups) {
      group.resize(generator() % 40);
      for (MicroBatch& batch : group) batch.tokens = 1 + static_cast<std::int64_t>(generator() % 1000);
    }
    const std::vector<std::int64_t> capacities = {1000, 4000};
    const std::vector<GroupParallelism> parallelism = {{.gpus_per_pack = 1}, {.gpus_per_pack = 4}};
    ScheduleOptions options;
    options.n_gpus = 8;
    options.micro_batches_per_rank = 1 + static_cast<int>(generator() % 3);
    options.order = kPackOrderNames[generator() % 3].value;
    options.last_iteration = kLastIterationNames[generator() % 3].value;
    options.epochs = 1 + static_cast<int>(generator() % 3);
    const Schedule schedule = make_schedule(groups, capacities, parallelism, options);
    INFO("trial " << trial << " " << policy_name(kLastIterationNames, options.last_iteration));

    std::int64_t packed_tokens = 0;
    std::int64_t n_packs = 0;
    for (const auto& group : groups) {
      n_packs += std::ssize(group);
      for (const MicroBatch& batch : group) packed_tokens += batch.tokens;
    }
    const ScheduleMetrics metrics = measure(schedule, groups);
    CHECK(metrics.trained_tokens ==
          options.epochs * packed_tokens - schedule.dropped_tokens + schedule.repeated_tokens);

    // Every pack that is not dropped is trained in every epoch; repeats come on top.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> trained;
    std::int64_t n_trained = 0;
    for (const Iteration& iteration : schedule.iterations) {
      REQUIRE(iteration.n_placed > 0);
      const std::uint32_t group = schedule.packs(iteration).front().group;
      const GroupPlan& plan = schedule.groups[group];
      const auto whole = static_cast<std::uint32_t>(plan.packs_per_iteration());
      CHECK(iteration.n_placed <= whole);
      if (options.last_iteration != LastIteration::shorten) CHECK(iteration.n_placed == whole);
      std::uint32_t i = 0;
      for (const PlacedPack& placed : schedule.packs(iteration)) {
        REQUIRE(placed.group == group);
        REQUIRE(placed.pack < groups[group].size());
        // Round and round the ranks.
        const auto n_ranks = static_cast<std::uint32_t>(plan.n_dp_ranks);
        REQUIRE(placed.first_gpu == i % n_ranks * static_cast<std::uint32_t>(plan.gpus_per_pack));
        REQUIRE(placed.round == i / n_ranks);
        ++trained[{group, placed.pack}];
        ++n_trained;
        ++i;
      }
    }
    CHECK(n_trained == options.epochs * n_packs - schedule.dropped_packs + schedule.repeated_packs);
    if (options.last_iteration != LastIteration::drop) {
      for (std::uint32_t group = 0; group < groups.size(); ++group) {
        for (std::uint32_t pack = 0; pack < groups[group].size(); ++pack) {
          CHECK(trained[{group, pack}] >= options.epochs);
        }
      }
    }
    if (options.last_iteration == LastIteration::shorten)
      CHECK(schedule.dropped_tokens + schedule.repeated_tokens == 0);
  }
}

TEST_CASE("each epoch is shuffled anew, each seed differently, and all of it repeatably") {
  const std::vector<MicroBatch> batches(50, MicroBatch{.tokens = 1});
  ScheduleOptions options;
  options.epochs = 2;
  options.seed = 5;
  const Orders orders = packs_by_iteration(one_group(batches, options));
  CHECK(packs_by_iteration(one_group(batches, options)) == orders);
  CHECK(!std::equal(orders.begin(), orders.begin() + 50, orders.begin() + 50));
  // Epoch e shuffles with seed + e, so epoch 1 of seed 5 is epoch 0 of seed 6.
  options.seed = 6;
  options.epochs = 1;
  const Orders next_seed = packs_by_iteration(one_group(batches, options));
  CHECK(std::equal(next_seed.begin(), next_seed.end(), orders.begin() + 50));
}

TEST_CASE("in pack order, groups follow one another; shuffled, their iterations mix") {
  const Groups groups(2, std::vector<MicroBatch>(20, MicroBatch{.tokens = 1}));
  const std::vector<std::int64_t> capacities = {1, 2};
  const std::vector<GroupParallelism> parallelism(2);
  const auto sorted_by_group = [&](PackOrder order) {
    const Schedule schedule = make_schedule(groups, capacities, parallelism, {.order = order});
    return std::ranges::is_sorted(schedule.iterations, {}, [&](const Iteration& iteration) {
      return schedule.packs(iteration).front().group;
    });
  };
  CHECK(sorted_by_group(PackOrder::as_packed));
  CHECK(!sorted_by_group(PackOrder::shuffled));
  CHECK(!sorted_by_group(PackOrder::balanced));
}

TEST_CASE("balanced order is ascending in attention work, ties in pack order") {
  const auto order = balanced_order(packs_of_work({5, 3, 5, 1, 3}));
  CHECK(order == std::vector<std::uint32_t>{3, 1, 4, 0, 2});
  CHECK(balanced_order({}).empty());
}

TEST_CASE("no cut into iterations has a smaller sum of largest works than the balanced order") {
  std::mt19937 generator(2);
  for (const auto& [n_packs, ranks] :
       {std::pair<std::size_t, std::size_t>{6, 2}, {6, 3}, {8, 4}, {4, 4}, {3, 1}}) {
    for (int trial = 0; trial < 12; ++trial) {
      std::vector<std::int64_t> work(n_packs);
      for (std::int64_t& pairs : work) pairs = static_cast<std::int64_t>(generator() % 20);
      const auto balanced = balanced_order(packs_of_work(work));
      std::vector<std::uint32_t> order(n_packs);
      std::iota(order.begin(), order.end(), 0U);
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      do {
        least = std::min(least, sum_of_maxima(order, work, ranks));
      } while (std::next_permutation(order.begin(), order.end()));
      CHECK(sum_of_maxima(balanced, work, ranks) == least);
    }
  }
}

TEST_CASE("balancing makes iterations more even than shuffling on long-tailed data") {
  const Lengths lengths = heavy_tailed_lengths(20000, 3, 16384);
  const Packing packing = pack("isf", {.lengths_tokens = lengths, .capacities_tokens = {16384}});
  const Groups groups = {micro_batches(packing, 0, Padding::none)};
  ScheduleOptions options{.n_gpus = 8, .order = PackOrder::shuffled, .last_iteration = LastIteration::drop};
  const double shuffled = measure(one_group(groups[0], options), groups).abr;
  options.order = PackOrder::balanced;
  const double balanced = measure(one_group(groups[0], options), groups).abr;
  CHECK(shuffled > 0.3);
  CHECK(balanced < 0.1);
}

TEST_CASE("micro-batches per rank are as many as the tokens of an iteration allow, and at least one") {
  const Groups groups(3);
  const std::vector<std::int64_t> capacities = {4096, 16384, 131072};
  const std::vector<GroupParallelism> parallelism = {
      {.gpus_per_pack = 1, .gc_layers = 3}, {.gpus_per_pack = 2}, {.gpus_per_pack = 8}};
  const Schedule schedule =
      make_schedule(groups, capacities, parallelism, {.n_gpus = 16, .tokens_per_iteration = 200'000});
  // 16 ranks x 4096 = 65 536 fit three times; 8 ranks x 16 384 = 131 072 once; 2 x 131 072 not even once.
  CHECK(schedule.groups[0].micro_batches_per_rank == 3);
  CHECK(schedule.groups[1].micro_batches_per_rank == 1);
  CHECK(schedule.groups[2].micro_batches_per_rank == 1);
  CHECK(schedule.groups[0].n_dp_ranks == 16);
  CHECK(schedule.groups[2].n_dp_ranks == 2);
  CHECK(schedule.groups[0].gc_layers == 3);
  CHECK(schedule.iterations.empty());
}

TEST_CASE("padding of packed rows is one more document at the end of the row") {
  // 3 + 4 tokens in a row of 10: 7 tokens, 9 + 16 = 25 pairs.
  const Packing packing = hand_packing("ffd", {10}, {{{3, 4}}});
  const auto padded = [&](Padding padding, std::int64_t multiple = 1) {
    return micro_batches(packing, 0, padding, multiple).at(0);
  };
  const MicroBatch plain = padded(Padding::none);
  CHECK(plain.tokens == 7);
  CHECK(plain.padded_tokens == 0);
  CHECK(plain.attention_pairs == 25);
  CHECK(plain.computed_pairs == 25);
  CHECK(plain.n_items == 2);
  CHECK(plain.longest_tokens == 4);
  CHECK(padded(Padding::longest).padded_tokens == 0);  // a single row is the longest
  CHECK(padded(Padding::capacity).padded_tokens == 3);
  CHECK(padded(Padding::capacity).computed_pairs == 25 + 9);
  CHECK(padded(Padding::multiple, 4).padded_tokens == 1);  // 7 to 8
  CHECK(padded(Padding::multiple, 4).computed_pairs == 25 + 1);
  CHECK(padded(Padding::multiple, 7).padded_tokens == 0);
  CHECK(padded(Padding::multiple, 16).padded_tokens == 9);  // above the capacity
  CHECK(padded(Padding::multiple, 16).attention_pairs == 25);
}

TEST_CASE("where tokens attend across samples, a pack is one document, padding included") {
  Packing packing = hand_packing("ffd", {10}, {{{3, 4}}});
  packing.attention = Attention::across_samples;
  // 7 tokens in a row of 10.
  const MicroBatch plain = micro_batches(packing, 0, Padding::none).at(0);
  CHECK(plain.attention_pairs == 49);
  CHECK(plain.computed_pairs == 49);
  CHECK(plain.n_items == 2);
  const MicroBatch padded = micro_batches(packing, 0, Padding::capacity).at(0);
  CHECK(padded.attention_pairs == 49);
  CHECK(padded.computed_pairs == 100);
  // Rows stay separate.
  Packing rows = hand_packing("none", {10}, {{{3, 4}}});
  rows.attention = Attention::across_samples;
  CHECK(micro_batches(rows, 0, Padding::none).at(0).attention_pairs == 25);
}

TEST_CASE("padding of a batch of rows makes every row equally long") {
  // Rows of 3, 4 and 1: 8 tokens, 9 + 16 + 1 = 26 pairs.
  const Packing packing = hand_packing("none", {10}, {{{3, 4, 1}}});
  const auto padded = [&](Padding padding, std::int64_t multiple = 1) {
    return micro_batches(packing, 0, padding, multiple).at(0);
  };
  CHECK(padded(Padding::none).padded_tokens == 0);
  CHECK(padded(Padding::none).computed_pairs == 26);
  CHECK(padded(Padding::longest).padded_tokens == 3 * 4 - 8);
  CHECK(padded(Padding::longest).computed_pairs == 3 * 16);
  CHECK(padded(Padding::capacity).padded_tokens == 3 * 10 - 8);
  CHECK(padded(Padding::capacity).computed_pairs == 3 * 100);
  CHECK(padded(Padding::multiple, 6).padded_tokens == 3 * 6 - 8);
  CHECK(padded(Padding::multiple, 6).computed_pairs == 3 * 36);
  CHECK(padded(Padding::longest).attention_pairs == 26);
}

TEST_CASE("a pack of its own that is longer than the capacity is not padded down") {
  const Packing packing = hand_packing("ffd", {10}, {{{13}}});
  CHECK(micro_batches(packing, 0, Padding::capacity).at(0).padded_tokens == 0);
  CHECK(micro_batches(packing, 0, Padding::multiple, 8).at(0).padded_tokens == 3);
}

TEST_CASE("pairs of the longest samples do not overflow") {
  constexpr std::int32_t kLongest = 1 << 24;
  const Packing packing = hand_packing("ffd", {kLongest}, {{{kLongest}}});
  CHECK(micro_batches(packing, 0, Padding::none).at(0).attention_pairs == std::int64_t{1} << 48);
}

TEST_CASE("a schedule that cannot be is refused with what was expected and what came") {
  const Groups groups(2);
  const std::vector<std::int64_t> capacities = {10, 20};
  const std::vector<GroupParallelism> parallelism(2);
  const auto message = [&](auto change) {
    ScheduleOptions options{.n_gpus = 8};
    std::vector<std::int64_t> changed_capacities = capacities;
    std::vector<GroupParallelism> changed_parallelism = parallelism;
    change(options, changed_capacities, changed_parallelism);
    try {
      make_schedule(groups, changed_capacities, changed_parallelism, options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message([](auto&, auto&, auto&) {}) == "accepted");
  CHECK(message([](auto&, auto&, auto& p) { p[1].gpus_per_pack = 3; }) ==
        "GPUs of a pack (sp_degree): expected a divisor of 8 GPUs, got 3");
  CHECK(message([](auto&, auto&, auto& p) { p[0].gpus_per_pack = 0; }) ==
        "GPUs of a pack (sp_degree): expected a divisor of 8 GPUs, got 0");
  CHECK(message([](auto&, auto&, auto& p) { p[0].gpus_per_pack = 16; }) ==
        "GPUs of a pack (sp_degree): expected a divisor of 8 GPUs, got 16");
  CHECK(message([](auto&, auto&, auto& p) { p.pop_back(); }) ==
        "parallelism: expected one entry for each of 2 groups, got 1");
  CHECK(message([](auto&, auto& c, auto&) { c.pop_back(); }) ==
        "capacities_tokens: expected one entry for each of 2 groups, got 1");
  CHECK(message([](auto&, auto& c, auto&) { c[0] = 0; }) == "capacities_tokens: expected >= 1, got 0");
  CHECK(message([](auto& o, auto&, auto&) { o.n_gpus = 0; }) == "n_gpus: expected >= 1, got 0");
  CHECK(message([](auto& o, auto&, auto&) { o.micro_batches_per_rank = 0; }) ==
        "micro_batches_per_rank: expected >= 1, got 0");
  CHECK(message([](auto& o, auto&, auto&) { o.epochs = 0; }) == "epochs: expected >= 1, got 0");
  CHECK(message([](auto& o, auto&, auto&) { o.tokens_per_iteration = -1; }) ==
        "tokens_per_iteration: expected >= 0, got -1");
  CHECK(message([](auto& o, auto&, auto&) { o.curriculum_iterations = -1; }) ==
        "curriculum_iterations: expected >= 0, got -1");
  CHECK(
      message([](auto& o, auto&, auto&) { o.curriculum_iterations = 1; }) ==
      "curriculum_iterations: expected at most 0, the number of whole iterations of the shortest group in an "
      "epoch, got 1");
  CHECK_THROWS_WITH(micro_batches(hand_packing("ffd", {10}, {{{3}}}), 0, Padding::multiple, 0),
                    "pad_multiple_tokens: expected 1..16777216, got 0");
}

TEST_CASE(
    "PackUseCounts count every micro-batch of the schedule, and those behind another one of their rank") {
  // 5 packs over 2 ranks, 2 micro-batches each: 4 packs, then 1 and a repetition of 3, then the same again.
  const Groups groups = {packs_of_work({1, 1, 1, 1, 1}), packs_of_work({})};
  const std::vector<std::int64_t> capacities = {10, 20};
  const std::vector<GroupParallelism> parallelism(2);
  const Schedule schedule = make_schedule(
      groups, capacities, parallelism,
      {.n_gpus = 2, .micro_batches_per_rank = 2, .last_iteration = LastIteration::repeat, .epochs = 2});
  const PackUseCounts counts = count_pack_uses(groups, schedule);
  CHECK(counts.iterations == std::vector<std::int64_t>{4, 0});
  CHECK(counts.later_micro_batches == std::vector<double>{8, 0});
  CHECK(counts.rank_steps == std::vector<double>{8, 0});  // 4 steps of 2 ranks
  REQUIRE(counts.of_pack.size() == 2);
  CHECK(std::accumulate(counts.of_pack[0].begin(), counts.of_pack[0].end(), 0) == 16);
  CHECK(std::ranges::count_if(counts.of_pack[0], [](std::int64_t times) { return times < 2; }) == 0);
  CHECK(counts.of_pack[1].empty());

  // A short last iteration: 1 pack for 2 ranks has none behind it.
  const Schedule shortened =
      make_schedule(groups, capacities, parallelism,
                    {.n_gpus = 2, .micro_batches_per_rank = 2, .last_iteration = LastIteration::shorten});
  CHECK(count_pack_uses(groups, shortened).later_micro_batches == std::vector<double>{2, 0});
}

TEST_CASE("PackUseCounts know groups and GPUs that come into use later") {
  // GPU 0 trains a pack of the first group, and in the next iteration GPU 1 one of the second: neither is
  // behind another one, and each group has one iteration of two ranks.
  Schedule schedule;
  schedule.groups.resize(2);
  schedule.n_gpus = 2;
  schedule.placed = {{.pack = 0, .first_gpu = 0, .group = 0}, {.pack = 0, .first_gpu = 1, .group = 1}};
  schedule.iterations = {{.first_placed = 0, .n_placed = 1}, {.first_placed = 1, .n_placed = 1}};
  const Groups groups = {packs_of_work({1}), packs_of_work({1})};
  const PackUseCounts counts = count_pack_uses(groups, schedule);
  CHECK(counts.iterations == std::vector<std::int64_t>{1, 1});
  CHECK(counts.later_micro_batches == std::vector<double>{0, 0});
  CHECK(counts.rank_steps == std::vector<double>{2, 2});
}

}  // namespace packsim::testing
