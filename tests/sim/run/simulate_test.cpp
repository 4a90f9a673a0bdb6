#include "sim/run/simulate.hpp"
#include "tests/sim/run/hand_schedule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <numeric>
#include <set>

#include "sim/run/alike_ranks.hpp"
#include "sim/run/run_step.hpp"
#include "tests/sim/run/random_run.hpp"
#include "tests/trials.hpp"

namespace packsim {
namespace {

using Catch::Contains;

double sum(const SimulatedRun& run) {
  return std::accumulate(run.fraction.begin(), run.fraction.end(), run.idle_fraction);
}

bool same(const SimulatedRun& a, const SimulatedRun& b) {
  return a.step_s == b.step_s && a.total_s == b.total_s && a.step_mean_s == b.step_mean_s &&
         a.step_p99_s == b.step_p99_s && a.fraction == b.fraction && a.idle_fraction == b.idle_fraction &&
         a.n_events == b.n_events;
}

TEST_CASE("ZeRO 1 without overlap: steps and idle time are sums over ranks and packs") {
  std::mt19937 generator(21);
  const auto below = [&](int n) { return static_cast<int>(generator() % static_cast<std::uint32_t>(n)); };
  for (int i = 0; i < packsim_test::trials(500); ++i) {
    TokenPrices tokens;
    tokens.layers[0].forward = phase_of({computed(below(1000)), attended()});
    tokens.layers[0].backward = phase_of({attended(), computed(below(1000))});
    const int n_layers = 1 + below(4);
    std::vector<PricedGroup> groups;
    Schedule schedule;
    const int n_gpus = 8;
    schedule.n_gpus = n_gpus;
    for (const int sp : {1, 4}) {
      PricedGroup& group = groups.emplace_back();
      group.plan.plan = {.n_gpus = n_gpus,
                         .sequence = {.ulysses = sp},
                         .zero_stage = 1,
                         .execution = {.overlaps_states = false}};
      group.plan.chunks = {{.n_dense = n_layers}};
      group.plan.states = {{.units = {{.n_layers = n_layers, .gather_ns = 300, .reduce_ns = 200}},
                            .optimizer_ns = 70,
                            .step_ns = 11}};
      for (int p = 0; p < 5; ++p) {
        group.packs.push_back({.tokens = &tokens,
                               .attention_forward = ring_of(below(1000)),
                               .attention_backward = ring_of(below(1000))});
      }
      schedule.groups.push_back(
          {.gpus_per_pack = sp, .n_dp_ranks = n_gpus / sp, .micro_batches_per_rank = 2});
    }
    double expected_idle = 0;
    double expected_all = 0;
    std::vector<double> expected_s;
    for (int n = 1 + below(4); n > 0; --n) {
      const auto g = static_cast<std::uint32_t>(below(2));
      const GroupPlan& plan = schedule.groups[g];
      const auto n_packs =
          static_cast<std::uint32_t>(1 + below(static_cast<int>(plan.packs_per_iteration())));
      std::vector<std::uint32_t> packs;
      std::vector<std::int64_t> ranks(static_cast<std::size_t>(plan.n_dp_ranks));
      for (std::uint32_t p = 0; p < n_packs; ++p) {
        packs.push_back(static_cast<std::uint32_t>(below(5)));
        const MicroBatchPrice& price = groups[g].packs[packs.back()];
        ranks[p % ranks.size()] +=
            n_layers * (tokens.layers[0].forward.total_ns + tokens.layers[0].backward.total_ns +
                        price.attention_forward.compute_ns + price.attention_backward.compute_ns);
      }
      add_iteration(schedule, g, packs);
      // Ranks without a pack have no gradients to send: their optimizer is done by then.
      const std::int64_t slowest = *std::ranges::max_element(ranks);
      const std::int64_t step = slowest + 200 + 70 + 300 + 11;
      expected_s.push_back(1e-9 * static_cast<double>(step));
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const std::int64_t waits = slowest - ranks[r] + (r < n_packs ? 0 : 200);
        expected_idle += plan.gpus_per_pack * static_cast<double>(waits);
        expected_all += plan.gpus_per_pack * static_cast<double>(step);
      }
    }
    for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
      const SimulatedRun run = simulate(schedule, groups, {.detail = detail});
      REQUIRE(run.step_s.size() == expected_s.size());
      for (std::size_t k = 0; k < expected_s.size(); ++k)
        REQUIRE(run.step_s[k] == Approx(expected_s[k]).epsilon(1e-12));
      REQUIRE(run.idle_fraction == Approx(expected_idle / expected_all).epsilon(1e-9));
      REQUIRE(sum(run) == Approx(1).epsilon(1e-12));
    }
  }
}

TEST_CASE("Fractions add up to 1, and both levels of detail agree on them and on every step") {
  RandomSteps steps(22);
  std::mt19937 generator(22);
  for (int i = 0; i < packsim_test::trials(1000); ++i) {
    const RandomRun random = random_run(steps, generator);
    const SimulatedRun coarse = simulate(random.schedule, random.groups);
    const SimulatedRun fine = simulate(random.schedule, random.groups, {.detail = StepDetail::stages});
    REQUIRE(coarse.step_s == fine.step_s);
    REQUIRE(coarse.total_s == fine.total_s);
    REQUIRE(coarse.step_p99_s == fine.step_p99_s);
    if (coarse.total_s == 0) continue;
    REQUIRE(sum(coarse) == Approx(1).epsilon(1e-9));
    REQUIRE(sum(fine) == Approx(1).epsilon(1e-9));
    for (const Cause cause : {Cause::linear, Cause::attention, Cause::recompute, Cause::optimizer}) {
      const auto c = static_cast<std::size_t>(cause);
      REQUIRE(coarse.fraction[c] == Approx(fine.fraction[c]).margin(1e-12));
    }
  }
}

TEST_CASE("Ranks that do the same may be simulated once") {
  RandomSteps steps(23);
  std::mt19937 generator(23);
  std::uint64_t n_full = 0;
  std::uint64_t n_merged = 0;
  for (int i = 0; i < packsim_test::trials(1000); ++i) {
    const RandomRun random = random_run(steps, generator);
    for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
      for (const double slow_down : {1.0, 1.3}) {
        const SimulatedRun merged =
            simulate(random.schedule, random.groups, {detail, nullptr, slow_down, true});
        const SimulatedRun full =
            simulate(random.schedule, random.groups, {detail, nullptr, slow_down, false});
        REQUIRE(merged.step_s == full.step_s);
        for (std::size_t c = 0; c < kNCauses; ++c)
          REQUIRE(merged.fraction[c] == Approx(full.fraction[c]).margin(1e-12));
        REQUIRE(merged.idle_fraction == Approx(full.idle_fraction).margin(1e-12));
        n_full += full.n_events;
        n_merged += merged.n_events;
      }
    }
  }
  CHECK(n_merged < n_full);
}

TEST_CASE("Passes whose times are known take what they take without") {
  RandomSteps steps(25);
  std::mt19937 generator(25);
  int n_known = 0;
  for (int i = 0; i < packsim_test::trials(3000); ++i) {
    const RandomRun random = random_run(steps, generator);
    IterationRanks iteration_ranks(random.schedule, random.groups, {});
    StepArena with_times{StepOptions()};
    StepArena without_times{StepOptions()};
    for (std::size_t k = 0; k < random.schedule.iterations.size(); ++k) {
      const std::span<const RankWork> ranks = iteration_ranks.of(k);
      std::vector<RankWork> unknown(ranks.begin(), ranks.end());
      for (RankWork& rank : unknown) {
        for (RankMicroBatch& batch : rank.micro_batches)
          if (std::exchange(batch.times, nullptr) != nullptr) ++n_known;
      }
      const StepRun a = run_step(ranks, with_times);
      const StepRun b = run_step(unknown, without_times);
      REQUIRE(a.end == b.end);
      for (std::size_t lane = 0; lane < a.work.size(); ++lane)
        REQUIRE(a.work[lane].by_cause_ns == b.work[lane].by_cause_ns);
    }
  }
  CHECK(n_known > packsim_test::trials(1000));
}

TEST_CASE(
    "Exchanges of experts with the computation between them are one collective, which changes no time") {
  RandomSteps steps(24);
  std::mt19937 generator(24);
  std::uint64_t n_each = 0;
  std::uint64_t n_merged = 0;
  for (int i = 0; i < packsim_test::trials(2000); ++i) {
    const RandomRun random = random_run(steps, generator);
    const SimulatedRun merged = simulate(random.schedule, random.groups);
    // The engine rounds this to no slow-down at all, but exchanges are then made one by one.
    const SimulatedRun each = simulate(random.schedule, random.groups, {.slow_down = 1 + 1e-9});
    REQUIRE(merged.step_s == each.step_s);
    REQUIRE(merged.fraction == each.fraction);
    REQUIRE(merged.idle_fraction == each.idle_fraction);
    n_each += each.n_events;
    n_merged += merged.n_events;
  }
  CHECK(n_merged < n_each);
}

TEST_CASE("Ranks that share experts are alike only together") {
  std::vector<PricedGroup> groups(1);
  PricedGroup& group = groups[0];
  group.plan.plan = {.n_gpus = 4, .ep_degree = 2, .zero_stage = 0};
  group.plan.chunks = {{.n_experts = 2}};
  group.plan.states = {{.units = {{.n_layers = 2}}}};
  std::deque<TokenPrices> tokens(3);
  struct Layer {
    std::int64_t before_ns;
    std::int64_t behind_ns;
  };
  for (const Layer& layer : {Layer{30, 0}, Layer{10, 0}, Layer{10, 40}}) {
    TokenPrices& prices = tokens[group.packs.size()];
    prices.layers[1].forward =
        phase_of({computed(layer.before_ns), exchanged(5, Cause::expert), computed(layer.behind_ns)});
    group.packs.push_back({.tokens = &prices});
  }
  // Ranks 0 and 2 train the same, but beside different ones.
  Schedule schedule;
  schedule.n_gpus = 4;
  schedule.groups = {{.n_dp_ranks = 4}};
  add_iteration(schedule, 0, std::vector<std::uint32_t>{0, 1, 0, 2});
  const SimulatedRun run = simulate(schedule, groups);
  // Rank 3 waits for rank 2 until 30, exchanges until 35, computes 40 + 10, exchanges until 90, computes 40.
  CHECK(run.step_s[0] == Approx(130e-9));
  // Ranks work 2 x 35, 2 x 15, 2 x 35 and 2 x 55 of that.
  CHECK(run.idle_fraction == Approx((60 + 100 + 60 + 20) / 520.0));
}

TEST_CASE("Slowed down by communication, a run's causes still add up") {
  RandomSteps steps(24);
  std::mt19937 generator(24);
  for (int i = 0; i < packsim_test::trials(300); ++i) {
    const RandomRun random = random_run(steps, generator);
    for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
      const SimulatedRun run = simulate(random.schedule, random.groups, {.detail = detail, .slow_down = 1.4});
      if (run.total_s > 0) REQUIRE(sum(run) == Approx(1).epsilon(1e-9));
      const SimulatedRun full = simulate(random.schedule, random.groups, {.detail = detail});
      for (std::size_t k = 0; k < run.step_s.size(); ++k) REQUIRE(run.step_s[k] >= full.step_s[k]);
    }
  }
}

TEST_CASE("Packs that share a price run as if each had its own, to the last bit") {
  RandomSteps steps(26);
  std::mt19937 generator(26);
  for (int i = 0; i < packsim_test::trials(200); ++i) {
    const RandomRun random = random_run(steps, generator);
    // Packs 4 to 7 cost what 0 to 3 do.
    std::vector<PricedGroup> own = random.groups;
    std::vector<PricedGroup> shared = random.groups;
    for (std::size_t g = 0; g < own.size(); ++g) {
      const PackPrices& packs = random.groups[g].packs;
      own[g].packs = {};
      shared[g].packs = {};
      for (std::uint32_t pack = 0; pack < packs.size(); ++pack) {
        own[g].packs.push_back(packs[pack % 4]);
        if (pack < 4) {
          shared[g].packs.push_back(packs[pack]);
        } else {
          shared[g].packs.push_back_same(pack % 4);
        }
      }
      REQUIRE(shared[g].packs.prices().size() == std::min<std::size_t>(4, packs.size()));
    }
    for (const bool merges : {false, true}) {
      const SimulationOptions options{.merges_alike = merges};
      REQUIRE(same(simulate(random.schedule, own, options), simulate(random.schedule, shared, options)));
    }
  }
}

TEST_CASE("The same run twice is the same to the last bit, whatever ran before") {
  RandomSteps steps(25);
  std::mt19937 generator(25);
  for (int i = 0; i < packsim_test::trials(200); ++i) {
    const RandomRun random = random_run(steps, generator);
    const SimulationOptions options{.detail = StepDetail::stages, .slow_down = 1.2};
    REQUIRE(same(simulate(random.schedule, random.groups, options),
                 simulate(random.schedule, random.groups, options)));
  }
}

TEST_CASE("Alike are ranks whose packs cost the same, one after another") {
  std::deque<TokenPrices> tokens(2);
  tokens[1].layers[0].backward = phase_of({computed(5)});
  std::vector<MicroBatchPrice> packs(6);
  for (std::size_t i = 0; i < packs.size(); ++i) packs[i].tokens = &tokens[i == 5 ? 1 : 0];
  packs[1].attention_backward.compute_ns = 3;
  packs[4].attention_backward.compute_ns = 3;
  packs[2].overhead_ns = 1;
  const std::vector<std::uint32_t> classes = price_classes(packs);
  CHECK(classes[0] == classes[3]);
  CHECK(classes[1] == classes[4]);
  CHECK(std::set<std::uint32_t>(classes.begin(), classes.end()).size() == 4);

  const auto kinds_of = [&](const std::vector<std::vector<std::size_t>>& packs_of_ranks) {
    RankKinds kinds;
    for (const std::vector<std::size_t>& rank : packs_of_ranks) {
      for (const std::size_t pack : rank) kinds.kinds.push_back(classes[pack]);
      kinds.end_rank();
    }
    return kinds;
  };
  const RankKinds ranks = kinds_of({{0, 1}, {3, 4}, {1, 0}, {0}});
  AlikeRanks alike;
  find_alike(ranks, 1, alike);
  REQUIRE(alike.kinds.size() == 3);
  CHECK(alike.kinds[0].first_block == 0);
  CHECK(alike.kinds[0].n_blocks == 2);
  CHECK(alike.kinds[1].first_block == 2);
  CHECK(alike.kinds[2].first_block == 3);
  // Ranks 0 and 1 together are not ranks 2 and 3.
  find_alike(ranks, 2, alike);
  CHECK(alike.kinds.size() == 2);
  // No packs: all do nothing.
  find_alike(kinds_of({{}, {}, {}, {}}), 1, alike);
  REQUIRE(alike.kinds.size() == 1);
  CHECK(alike.kinds[0].n_blocks == 4);
}

TEST_CASE("Packs without a price, which are never trained, leave the others' classes as they are") {
  TokenPrices tokens;
  // Enough of them that a sort would go out of its bounds, were they compared.
  std::vector<MicroBatchPrice> packs(100);
  for (const std::size_t i : {10, 50, 90}) packs[i].tokens = &tokens;
  packs[50].overhead_ns = 1;
  const std::vector<std::uint32_t> classes = price_classes(packs);
  REQUIRE(classes.size() == 100);
  CHECK(classes[10] == classes[90]);
  CHECK(classes[10] != classes[50]);
}

TEST_CASE("Empty schedules, progress, the 99th percentile") {
  CHECK(simulate({}, {}).total_s == 0);
  CHECK(simulate({}, {}).step_s.empty());

  TokenPrices tokens;
  tokens.layers[0].forward = phase_of({attended()});
  tokens.layers[0].backward = phase_of({attended()});
  std::vector<PricedGroup> groups(1);
  groups[0].plan.chunks = {{.n_dense = 1}};
  groups[0].plan.states = {{.units = {{.n_layers = 1}}}};
  Schedule schedule;
  schedule.groups = {{.n_dp_ranks = 1}};
  for (std::uint32_t i = 0; i < 600; ++i) {
    groups[0].packs.push_back({.tokens = &tokens, .attention_forward = ring_of(i + 1)});
    add_iteration(schedule, 0, std::vector<std::uint32_t>{i});
  }
  std::vector<std::int64_t> told;
  const SimulatedRun run = simulate(schedule, groups, {}, [&](std::int64_t done) { told.push_back(done); });
  CHECK(told == std::vector<std::int64_t>{256, 512, 600});
  // 1..600 ns: 594 of the 600 are not over 594 ns.
  CHECK(run.step_p99_s == Approx(594e-9));
  CHECK(run.total_s == Approx(600 * 601 / 2 * 1e-9));
  CHECK(run.step_mean_s == Approx(300.5e-9));
}

TEST_CASE("A schedule that speaks of what is not there is refused") {
  std::vector<PricedGroup> groups(1);
  Schedule schedule;
  CHECK_THROWS_WITH(simulate(schedule, groups), Contains("expected 0 groups"));
  schedule.groups.resize(1);
  schedule.iterations = {{}};
  CHECK_THROWS_WITH(simulate(schedule, groups), Contains("iterations[0]: expected packs, got none"));
  schedule.iterations = {{.n_placed = 1}};
  CHECK_THROWS_WITH(simulate(schedule, groups),
                    Contains("iterations[0]: expected an end in placed of at most 0, got 1"));
  schedule.placed = {{.group = 1}};
  CHECK_THROWS_WITH(simulate(schedule, groups), Contains("placed[0]: expected a group below 1, got 1"));
  schedule.placed = {{}};
  CHECK_THROWS_WITH(simulate(schedule, groups), Contains("placed[0]: expected a pack of group 0 below 0"));
  groups[0].packs.push_back({});
  schedule.placed = {{.first_gpu = 1}};
  CHECK_THROWS_WITH(simulate(schedule, groups), Contains("a multiple of 1 and at most 0, got 1"));
}

}  // namespace
}  // namespace packsim
