#include "sim/replay.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <stdexcept>

#include "sim/closed_forms.hpp"
#include "tests/sim/random_ranks.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kIterationNs = 1000;

// One token takes one nanosecond, in shares that doubles hold exactly.
class NanosecondPerToken final : public CostModel {
 public:
  MicroBatchTime micro_batch(const MicroBatch& batch, const GroupPlan&) const override {
    ++n_calls;
    const double time_s = static_cast<double>(batch.tokens) * 1e-9;
    return {.linear_s = time_s / 2,
            .attention_s = time_s / 4,
            .recompute_s = time_s / 8,
            .alltoall_s = time_s / 16,
            .overhead_s = time_s / 16};
  }
  double iteration_s() const override { return kIterationNs * 1e-9; }

  mutable int n_calls = 0;
};

using Batches = std::vector<std::vector<MicroBatch>>;

std::vector<MicroBatch> batches_of(const std::vector<std::int64_t>& tokens) {
  std::vector<MicroBatch> batches(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) batches[i].tokens = tokens[i];
  return batches;
}

// A schedule of one group in the order of its packs; the last iteration may be short.
Schedule schedule_of(const Batches& batches, int n_gpus, int micro_batches_per_rank, int sp_degree = 1) {
  ScheduleOptions options;
  options.n_gpus = n_gpus;
  options.micro_batches_per_rank = micro_batches_per_rank;
  options.order = PackOrder::as_packed;
  options.last_iteration = LastIteration::shorten;
  const std::vector<std::int64_t> capacities(batches.size(), 1'000'000);
  const std::vector<GroupParallelism> parallelism(batches.size(), {.sp_degree = sp_degree});
  return make_schedule(batches, capacities, parallelism, options);
}

// The durations of one iteration as the closed forms want them: pack i is rank i % n_dp_ranks's next
// micro-batch.
Ranks ranks_of(const Schedule& schedule, const Iteration& iteration, const Batches& batches) {
  Ranks ranks(static_cast<std::size_t>(schedule.groups[iteration.group].n_dp_ranks));
  const auto packs = schedule.packs(iteration);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    ranks[i % ranks.size()].push_back({batches[iteration.group][packs[i]].tokens});
  }
  return ranks;
}

double sum_of_fractions(const RunMetrics& metrics) {
  return metrics.linear_fraction + metrics.attention_fraction + metrics.recompute_fraction +
         metrics.alltoall_fraction + metrics.overhead_fraction + metrics.idle_fraction;
}

// Two groups of different parallelism over the same 1..32 GPUs, with iterations of both, short ones among
// them.
struct Case {
  Batches batches;
  Schedule schedule;
};

Case random_case(std::mt19937& generator) {
  Case made;
  made.schedule.n_gpus = 2 * draw(generator, 1, 16);
  for (const int sp_degree : {1, 2}) {
    GroupPlan& plan = made.schedule.groups.emplace_back();
    plan.sp_degree = sp_degree;
    plan.n_dp_ranks = made.schedule.n_gpus / sp_degree;
    plan.micro_batches_per_rank = draw(generator, 1, 8);
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(draw(generator, 1, 400)));
    for (std::int64_t& n : tokens) n = draw(generator, 0, 1'000'000);
    made.batches.push_back(batches_of(tokens));
  }
  for (int i = draw(generator, 1, 20); i > 0; --i) {
    Iteration& iteration = made.schedule.iterations.emplace_back();
    iteration.group = static_cast<std::uint32_t>(draw(generator, 0, 1));
    iteration.first_pack = static_cast<std::uint32_t>(made.schedule.pack_order.size());
    const auto whole = static_cast<int>(made.schedule.groups[iteration.group].packs_per_iteration());
    iteration.n_packs =
        static_cast<std::uint32_t>(draw(generator, 0, 1) == 0 ? whole : draw(generator, 0, whole));
    const auto last = static_cast<int>(made.batches[iteration.group].size()) - 1;
    for (std::uint32_t p = 0; p < iteration.n_packs; ++p) {
      made.schedule.pack_order.push_back(static_cast<std::uint32_t>(draw(generator, 0, last)));
    }
  }
  return made;
}

TEST_CASE("a replay of two short iterations comes to the sum on paper") {
  // 2 ranks, 2 micro-batches each; packs of 400, 100, 200, 500 and 300 ns. Rank 0 has packs 0 and 2, rank 1
  // packs 1 and 3; the last iteration has pack 4 on rank 0 and nothing on rank 1.
  const Batches batches{batches_of({400, 100, 200, 500, 300})};
  const Schedule schedule = schedule_of(batches, 2, 2);
  REQUIRE(schedule.iterations.size() == 2);

  // max(400 + 200, 100 + 500) = 600 and 300, with 1000 fixed each.
  const RunMetrics once = replay(schedule, batches, NanosecondPerToken{}, Barrier::iteration);
  CHECK(once.step_s[0] == Approx(1600e-9));
  CHECK(once.step_s[1] == Approx(1300e-9));
  CHECK(once.total_s == Approx(2900e-9));
  CHECK(once.step_mean_s == Approx(1450e-9));
  // GPU time is 2 x 2900 = 5800: 1500 of work, 2 x 2000 fixed, and rank 1 waits 300.
  CHECK(once.linear_fraction == Approx(750.0 / 5800));
  CHECK(once.attention_fraction == Approx(375.0 / 5800));
  CHECK(once.recompute_fraction == Approx(187.5 / 5800));
  CHECK(once.alltoall_fraction == Approx(93.75 / 5800));
  CHECK(once.overhead_fraction == Approx((93.75 + 4000) / 5800));
  CHECK(once.idle_fraction == Approx(300.0 / 5800));
  // 2 starts, 4 micro-batches and 1 barrier; then 2, 1 and 1.
  CHECK(once.n_events == 7 + 4);

  // max(400, 100) + max(200, 500) = 900 and 300: ranks wait 300 in each wave of the first, rank 1 300 in the
  // last.
  const RunMetrics each = replay(schedule, batches, NanosecondPerToken{}, Barrier::micro_batch);
  CHECK(each.step_s[0] == Approx(1900e-9));
  CHECK(each.step_s[1] == Approx(1300e-9));
  CHECK(each.idle_fraction == Approx(900.0 / 6400));
  CHECK(each.n_events == 8 + 4);
}

TEST_CASE("a rank of several GPUs counts as so many") {
  // 4 GPUs as 2 ranks of 2; work 100 and 300: GPU time is 4 x 1300 = 5200, of which 2 GPUs wait 200.
  const Batches batches{batches_of({100, 300})};
  const RunMetrics metrics =
      replay(schedule_of(batches, 4, 1, 2), batches, NanosecondPerToken{}, Barrier::iteration);
  CHECK(metrics.total_s == Approx(1300e-9));
  CHECK(metrics.idle_fraction == Approx(400.0 / 5200));
  CHECK(metrics.linear_fraction == Approx(2 * 200.0 / 5200));
}

TEST_CASE("the replay agrees with the closed forms to the nanosecond") {
  std::mt19937 generator(1);
  for (int i = 0; i < 500; ++i) {
    const Case made = random_case(generator);
    for (const Barrier barrier : {Barrier::iteration, Barrier::micro_batch}) {
      const RunMetrics metrics = replay(made.schedule, made.batches, NanosecondPerToken{}, barrier);
      REQUIRE(metrics.step_s.size() == made.schedule.iterations.size());

      std::vector<SimTime> steps;
      double idle_gpu_ns = 0;
      double gpu_ns = 0;
      for (std::size_t s = 0; s < metrics.step_s.size(); ++s) {
        const Iteration& iteration = made.schedule.iterations[s];
        const Ranks ranks = ranks_of(made.schedule, iteration, made.batches);
        steps.push_back(step_time(ranks, barrier));
        REQUIRE(sim_time(metrics.step_s[s]) == steps.back() + SimTime{kIterationNs});

        const auto step_ns = static_cast<double>(steps.back().ns);
        idle_gpu_ns += idle_fraction(ranks, barrier) * step_ns * made.schedule.n_gpus;
        gpu_ns += (step_ns + kIterationNs) * made.schedule.n_gpus;
      }
      REQUIRE(sim_time(metrics.total_s) == run_time(steps, {kIterationNs}));
      REQUIRE(metrics.idle_fraction == Approx(idle_gpu_ns / gpu_ns).margin(1e-9));
      REQUIRE(std::abs(sum_of_fractions(metrics) - 1) < 1e-9);
    }
  }
}

TEST_CASE("fractions are of all GPU time: work, fixed cost and waiting add up to it") {
  // Durations that are no whole nanoseconds: each micro-batch is 0.3 ns over what the engine runs.
  class Crooked final : public CostModel {
   public:
    MicroBatchTime micro_batch(const MicroBatch& batch, const GroupPlan&) const override {
      return {.linear_s = (static_cast<double>(batch.tokens) + 0.3) * 1e-9};
    }
    double iteration_s() const override { return 0; }
  };
  // 2 ranks with 10 and 30: 40 of 60 is work, 20 is waiting.
  const Batches batches{batches_of({10, 30})};
  const RunMetrics metrics = replay(schedule_of(batches, 2, 1), batches, Crooked{}, Barrier::iteration);
  CHECK(metrics.linear_fraction == Approx(40.0 / 60).epsilon(1e-12));
  CHECK(metrics.idle_fraction == Approx(20.0 / 60).epsilon(1e-12));
}

TEST_CASE("p99 is the smallest step that 99 % of the steps do not exceed") {
  const auto p99_ns = [](std::int64_t n_steps) {
    std::vector<std::int64_t> tokens;  // n, n - 1, ..., 1
    for (std::int64_t n = n_steps; n > 0; --n) tokens.push_back(n);
    const Batches batches{batches_of(tokens)};
    const RunMetrics metrics =
        replay(schedule_of(batches, 1, 1), batches, NanosecondPerToken{}, Barrier::iteration);
    return sim_time(metrics.step_p99_s).ns - kIterationNs;
  };
  CHECK(p99_ns(1) == 1);      // ceil(0.99) = 1st
  CHECK(p99_ns(2) == 2);      // ceil(1.98) = 2nd
  CHECK(p99_ns(99) == 99);    // ceil(98.01) = 99th
  CHECK(p99_ns(100) == 99);   // ceil(99) = 99th
  CHECK(p99_ns(101) == 100);  // ceil(99.99) = 100th
  CHECK(p99_ns(1000) == 990);
}

TEST_CASE("no iterations give zeros") {
  const Batches batches{{}};
  const RunMetrics metrics =
      replay(schedule_of(batches, 8, 1), batches, NanosecondPerToken{}, Barrier::iteration);
  CHECK(metrics.step_s.empty());
  CHECK(metrics.total_s == 0);
  CHECK(metrics.step_mean_s == 0);
  CHECK(metrics.step_p99_s == 0);
  CHECK(sum_of_fractions(metrics) == 0);
  CHECK(metrics.n_events == 0);
}

TEST_CASE("an iteration without packs takes the fixed cost") {
  const Batches batches{{}};
  Schedule schedule = schedule_of(batches, 8, 1);
  schedule.iterations.resize(1);
  const RunMetrics metrics = replay(schedule, batches, NanosecondPerToken{}, Barrier::micro_batch);
  CHECK(metrics.total_s == Approx(1000e-9));
  CHECK(metrics.overhead_fraction == Approx(1));
}

TEST_CASE("the cost model is asked once a pack, however often the pack is trained") {
  const Batches batches{batches_of({1, 2, 3, 4, 5})};
  Schedule schedule = schedule_of(batches, 1, 1);
  const auto first_epoch = schedule.iterations;
  for (int epoch = 0; epoch < 9; ++epoch) {
    schedule.iterations.insert(schedule.iterations.end(), first_epoch.begin(), first_epoch.end());
  }
  const NanosecondPerToken cost_model;
  const RunMetrics metrics = replay(schedule, batches, cost_model, Barrier::iteration);
  // 10 epochs of 1 + 2 + 3 + 4 + 5 and 5 fixed costs.
  CHECK(metrics.total_s == Approx(10 * 5015e-9));
  CHECK(cost_model.n_calls == 5);
}

TEST_CASE("progress tells the iterations done, in order, up to the last") {
  const Batches batches{batches_of(std::vector<std::int64_t>(10'000, 1))};
  std::vector<std::int64_t> told;
  replay(schedule_of(batches, 1, 1), batches, NanosecondPerToken{}, Barrier::iteration,
         [&told](std::int64_t done) { told.push_back(done); });
  CHECK(told == std::vector<std::int64_t>{4096, 8192, 10'000});
}

TEST_CASE("a schedule that does not fit its packs is refused") {
  const Batches batches{batches_of({1, 2})};
  const Schedule good = schedule_of(batches, 1, 1);
  const NanosecondPerToken cost_model;
  const auto run = [&](const Schedule& schedule) {
    replay(schedule, batches, cost_model, Barrier::iteration);
  };
  SECTION("a pack that is not there") {
    Schedule bad = good;
    bad.pack_order[1] = 2;
    CHECK_THROWS_WITH(run(bad), "pack_order[1]: expected a pack of group 0 below 2, got 2");
    CHECK_THROWS_AS(run(bad), std::invalid_argument);
  }
  SECTION("an iteration beyond pack_order") {
    Schedule bad = good;
    bad.iterations[1].n_packs = 2;
    CHECK_THROWS_WITH(run(bad), "iterations[1]: expected an end in pack_order of at most 2, got 3");
  }
  SECTION("a group that is not there") {
    Schedule bad = good;
    bad.iterations[0].group = 1;
    CHECK_THROWS_WITH(run(bad), "iterations[0]: expected a group below 1, got 1");
  }
  SECTION("no ranks") {
    Schedule bad = good;
    bad.groups[0].n_dp_ranks = 0;
    CHECK_THROWS_WITH(run(bad), "groups[0]: expected n_dp_ranks and sp_degree of at least 1, got 0 and 1");
  }
  SECTION("other groups than packed") {
    CHECK_THROWS_WITH(replay(good, Batches{}, cost_model, Barrier::iteration),
                      "batches: expected 1 groups, as the schedule has, got 0");
  }
}

TEST_CASE("a cost model that gives no time is a bug, not a run of no time") {
  class Broken final : public CostModel {
   public:
    MicroBatchTime micro_batch(const MicroBatch&, const GroupPlan&) const override {
      return {.linear_s = -1};
    }
    double iteration_s() const override { return 0; }
  };
  const Batches batches{batches_of({1})};
  CHECK_THROWS_AS(replay(schedule_of(batches, 1, 1), batches, Broken{}, Barrier::iteration),
                  std::logic_error);
}

}  // namespace
}  // namespace packsim
