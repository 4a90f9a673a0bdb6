#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "sim/run/pass_spread.hpp"
#include "sim/run/rank_slow_down.hpp"
#include "sim/run/simulate.hpp"
#include "tests/sim/closed_forms/spread_closed_forms.hpp"
#include "tests/sim/run/hand_schedule.hpp"
#include "tests/sim/run/random_run.hpp"

namespace packsim {
namespace {

constexpr StepDetail kDetails[] = {StepDetail::micro_batches, StepDetail::stages};

// One iteration of n_ranks ranks that all train the same micro-batch so often: layers of a forward and a
// backward kernel.
struct BalancedStep {
  static constexpr std::int64_t kForward_ns = 1'000'000;
  static constexpr std::int64_t kBackward_ns = 2'000'000;
  static constexpr int kLayers = 4;

  TokenPrices tokens;
  std::vector<PricedGroup> groups;
  Schedule schedule;

  BalancedStep(const ParallelPlan& plan, int n_micro_batches) {
    tokens.layers[0].forward = phase_of({computed(kForward_ns)});
    tokens.layers[0].backward = phase_of({computed(kBackward_ns)});
    const auto n_stages = static_cast<std::size_t>(plan.pp_degree);
    groups.resize(1);
    groups[0].plan.plan = plan;
    groups[0].plan.chunks.assign(n_stages, {.n_dense = kLayers});
    groups[0].plan.states.assign(n_stages, {.units = {{.n_layers = kLayers}}});
    groups[0].packs = {{.tokens = &tokens}};
    const int n_ranks = plan.dp_degree();
    const int gpus_per_pack = plan.sequence.gpus_per_pack();
    schedule.n_gpus = n_ranks * gpus_per_pack;
    schedule.groups = {
        {.gpus_per_pack = gpus_per_pack, .n_dp_ranks = n_ranks, .micro_batches_per_rank = n_micro_batches}};
    add_iteration(schedule, 0,
                  std::vector<std::uint32_t>(static_cast<std::size_t>(n_ranks * n_micro_batches), 0));
  }

  SimulatedRun run(const Variability& variability, StepDetail detail = StepDetail::micro_batches) const {
    return simulate(schedule, groups, {.detail = detail, .variability = variability});
  }
};

constexpr double kForward_s = 1e-9 * BalancedStep::kLayers * BalancedStep::kForward_ns;
constexpr double kBackward_s = 1e-9 * BalancedStep::kLayers * BalancedStep::kBackward_ns;

struct RunningMoments {
  double n = 0;
  double sum = 0;
  double squares = 0;
  void add(double value) {
    ++n;
    sum += value;
    squares += value * value;
  }
  double mean() const { return sum / n; }
  double sd() const { return std::sqrt(squares / n - mean() * mean()); }
  double standard_error() const { return sd() / std::sqrt(n); }
};

TEST_CASE("GPUs that are slow by a factor of 1 change nothing, to the last bit") {
  RandomSteps steps(31);
  std::mt19937 generator(31);
  for (int i = 0; i < 300; ++i) {
    const RandomRun random = random_run(steps, generator);
    for (const StepDetail detail : kDetails) {
      const SimulatedRun plain =
          simulate(random.schedule, random.groups, {.detail = detail, .merges_alike = false});
      const SimulatedRun run = simulate(random.schedule, random.groups,
                                        {.detail = detail, .variability = {.slow_ranks = {{0, 1.0}}}});
      REQUIRE(run.step_s == plain.step_s);
      REQUIRE(run.total_s == plain.total_s);
      REQUIRE(run.fraction == plain.fraction);
      REQUIRE(run.idle_fraction == plain.idle_fraction);
    }
  }
}

TEST_CASE("A slow GPU makes a balanced step as much longer as it is slow, wherever it sits") {
  // 4 ranks of 2 GPUs, 3 micro-batches.
  const BalancedStep step({.n_gpus = 8, .sequence = {.ulysses = 2}, .zero_stage = 0}, 3);
  for (const StepDetail detail : kDetails) {
    const double even_s = step.run({}, detail).total_s;
    CHECK(even_s == Approx(3 * (kForward_s + kBackward_s)));
    for (int gpu = 0; gpu < 8; ++gpu) {
      for (const double factor : {1.25, 3.0}) {
        const SimulatedRun run = step.run({.slow_ranks = {{gpu, factor}}}, detail);
        CHECK(run.total_s == Approx(factor * even_s).epsilon(1e-15));
        // Three of four ranks wait.
        CHECK(run.idle_fraction == Approx(0.75 * (factor - 1) / factor));
      }
    }
    // Faster than the others it makes them no faster.
    CHECK(step.run({.slow_ranks = {{5, 0.5}}}, detail).total_s == even_s);
  }
}

TEST_CASE("A slow GPU slows down its own pipeline stage") {
  // Stages are 4 GPUs apart: GPU 9 is of stage 2 of the first rank's second GPU.
  for (int gpu = 0; gpu < 16; ++gpu) {
    const BalancedStep one({.n_gpus = 16, .sequence = {.ulysses = 2}, .pp_degree = 4, .zero_stage = 0}, 1);
    // One micro-batch goes through 4 stages there and back, one of them twice as slow.
    CHECK(one.run({.slow_ranks = {{gpu, 2.0}}}).total_s == Approx(5 * (kForward_s + kBackward_s)));
  }
  const int n_micro_batches = 6;
  const BalancedStep step({.n_gpus = 16, .sequence = {.ulysses = 2}, .pp_degree = 4, .zero_stage = 0},
                          n_micro_batches);
  for (const StepDetail detail : kDetails) {
    // The last stage, GPUs 12 to 15, has always something to do once the first micro-batch has come.
    for (const int gpu : {12, 15}) {
      const double total_s = step.run({.slow_ranks = {{gpu, 1.5}}}, detail).total_s;
      CHECK(total_s == Approx((3 + 1.5 * n_micro_batches) * (kForward_s + kBackward_s)));
    }
  }
}

TEST_CASE("The optimizer is as slow as its GPU; exchanges and the framework take what they take") {
  BalancedStep step({.n_gpus = 2, .zero_stage = 0, .execution = {.overlaps_states = false}}, 1);
  step.groups[0].packs[0].overhead_ns = 500'000;
  step.groups[0].plan.states[0].units[0].reduce_ns = 700'000;
  step.groups[0].plan.states[0].optimizer_ns = 300'000;
  step.groups[0].plan.states[0].step_ns = 110'000;
  for (const StepDetail detail : kDetails) {
    CHECK(step.run({.slow_ranks = {{1, 2.0}}}, detail).total_s ==
          Approx(2 * (kForward_s + kBackward_s + 0.3e-3) + 0.5e-3 + 0.7e-3 + 0.11e-3));
  }
}

TEST_CASE("Over many seeds, a balanced step of GPUs that spread takes the expected slowest of them") {
  const double even_s = kForward_s + kBackward_s;
  for (const int n_gpus : {2, 16}) {
    // Ranks of one GPU, and one rank of all: who waits for whom makes no difference.
    for (const int sp_degree : {1, n_gpus}) {
      const BalancedStep step({.n_gpus = n_gpus, .sequence = {.ulysses = sp_degree}, .zero_stage = 0}, 1);
      RunningMoments found;
      for (std::uint64_t seed = 0; seed < 4000; ++seed)
        found.add(step.run({.rank_spread = 0.03, .seed = seed}).total_s / even_s);
      CAPTURE(n_gpus, sp_degree, found.mean());
      CHECK(std::abs(found.mean() - expected_slowest(0.03, n_gpus)) < 4 * found.standard_error());
    }
  }
}

TEST_CASE("A lone GPU's noise averages out over kernels: mean 1, spread that of their sum") {
  const BalancedStep step({.n_gpus = 1, .zero_stage = 0}, 1);
  RunningMoments found;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed)
    found.add(step.run({.kernel_spread = 0.1, .seed = seed}).total_s / (kForward_s + kBackward_s));
  CHECK(std::abs(found.mean() - 1) < 4 * found.standard_error());
  // 4 kernels of 1 ms and 4 of 2 ms: 0.1 sqrt(4 x 1 + 4 x 4) / 12.
  const double expected = 0.1 * std::sqrt(20.0) / 12;
  CHECK(found.sd() == Approx(expected).epsilon(0.03));
}

// What GPUs take that draw the noise of every kernel, and wait for each other where an exchange makes them.
double drawn_pass_ns(const MicroBatchPrice& price, const PricedPhase& phase, int n_layers,
                     const std::vector<double>& factors, double kernel_spread, std::uint64_t draw) {
  double done_ns = 0;
  std::vector<double> gpus_ns(factors.size(), 0.0);
  const auto meet = [&] {
    done_ns += std::ranges::max(gpus_ns);
    gpus_ns.assign(factors.size(), 0.0);
  };
  std::uint64_t op = 0;
  const auto compute = [&](std::int64_t time_ns) {
    ++op;
    for (std::size_t gpu = 0; gpu < factors.size(); ++gpu)
      gpus_ns[gpu] +=
          factors[gpu] * static_cast<double>(time_ns) * noise_factor(7, {gpu, draw, op}, kernel_spread);
  };
  for (int layer = 0; layer < n_layers; ++layer) {
    for (const PassSegment& stage : phase.segments) {
      if (stage.kind == PassSegment::Kind::exchange) meet();
      if (stage.kind == PassSegment::Kind::compute) compute(stage.time_ns);
      if (stage.kind != PassSegment::Kind::attention) continue;
      for (int step = 0; step < price.attention_forward.steps; ++step) {
        if (step > 0) meet();
        compute(price.attention_forward.compute_ns);
      }
      compute(price.attention_forward.windowed_ns);
    }
  }
  meet();
  return done_ns;
}

TEST_CASE("A pass takes what GPUs take that draw every kernel and wait at every exchange") {
  constexpr double kSpread = 0.06;
  constexpr int kLayers = 5;
  TokenPrices tokens;
  tokens.layers[0].forward =
      phase_of({computed(300), computed(500, Cause::sequence), exchanged(70, Cause::sequence), attended(),
                exchanged(70, Cause::sequence), computed(400), computed(250)});
  struct Case {
    std::vector<double> factors;
    int ring_steps;
    std::int64_t windowed_ns = 0;
  };
  const std::vector<Case> cases = {
      {{1.0}, 1}, {{1.07}, 3}, {{1.07}, 3, 200}, {{1, 1, 1, 1}, 1}, {{1.0, 1.02, 0.96, 1.1}, 2, 300}};
  for (const Case& each : cases) {
    MicroBatchPrice price{.tokens = &tokens, .attention_forward = ring_of(600, each.ring_steps)};
    price.attention_forward.windowed_ns = each.windowed_ns;
    const double priced_ns =
        kLayers * (1450.0 + 600.0 * each.ring_steps + static_cast<double>(each.windowed_ns));
    RunningMoments drawn;
    for (std::uint64_t draw = 0; draw < 20'000; ++draw)
      drawn.add(drawn_pass_ns(price, tokens.layers[0].forward, kLayers, each.factors, kSpread, draw) /
                priced_ns);
    const PassSpread spread =
        pass_spread(price, {.n_dense = kLayers}, true, kSpread, SlowestGpus(each.factors, kSpread));
    CAPTURE(each.factors, each.ring_steps, spread.mean, drawn.mean());
    // Sums of log-normals are not log-normal: what a piece of several unlike kernels takes is a little off.
    CHECK(std::abs(spread.mean - drawn.mean()) < 4 * drawn.standard_error() + 1e-3 * kSpread);
    CHECK(spread.mean * spread.relative_spread == Approx(drawn.sd()).epsilon(0.03));
  }
}

TEST_CASE("Chunks of every shape have all their kernels in their spread") {
  // One kernel of a time of its own each; a lone GPU's variance is the sum of all squares.
  TokenPrices tokens;
  tokens.embedding_forward = phase_of({computed(2)});
  tokens.head_forward = phase_of({computed(3)});
  tokens.head_backward = phase_of({computed(5)});
  tokens.embedding_backward = phase_of({computed(7)});
  for (const std::size_t kind : {0U, 1U}) {
    const std::int64_t unit = kind == 0 ? 11 : 101;
    tokens.layers[kind].forward = phase_of({computed(unit)});
    tokens.layers[kind].recompute = phase_of({computed(2 * unit)});
    tokens.layers[kind].backward = phase_of({computed(3 * unit), attended()});
  }
  const MicroBatchPrice price{.tokens = &tokens, .attention_backward = ring_of(13)};
  const SlowestGpus gpu({1.0}, 0.1);
  for (int n_dense = 0; n_dense < 4; ++n_dense) {
    for (int n_experts = 0; n_experts < 4; ++n_experts) {
      for (int n_checkpointed = 0; n_checkpointed <= n_dense + n_experts; ++n_checkpointed) {
        const ChunkShape chunk{.n_dense = n_dense,
                               .n_experts = n_experts,
                               .n_checkpointed = n_checkpointed,
                               .has_embedding = true,
                               .has_head = true};
        double squares[] = {2.0 * 2 + 3 * 3, 5.0 * 5 + 7 * 7};
        for (int layer = 0; layer < n_dense + n_experts; ++layer) {
          const double unit = layer < n_dense ? 11 : 101;
          squares[0] += unit * unit;
          squares[1] += 9 * unit * unit + 13 * 13 + (layer < n_checkpointed ? 4 * unit * unit : 0);
        }
        for (const bool is_forward : {true, false}) {
          const WorkTime time = is_forward ? forward_time(price, chunk) : backward_time(price, chunk);
          const PassSpread spread = pass_spread(price, chunk, is_forward, 0.1, gpu);
          CHECK(spread.mean == Approx(1));
          CHECK(spread.relative_spread * static_cast<double>(time.total_ns) ==
                Approx(0.1 * std::sqrt(squares[is_forward ? 0 : 1])));
        }
      }
    }
  }
  CHECK(pass_spread(price, {}, true, 0.1, SlowestGpus({1.0, 1.3}, 0.1)).mean == 1.3);
}

TEST_CASE("Slow GPUs and noise are the same at both levels of detail, and in every thread") {
  RandomSteps steps(32);
  std::mt19937 generator(32);
  int n_moved = 0;
  for (int i = 0; i < 300; ++i) {
    const RandomRun random = random_run(steps, generator);
    SimulationOptions options{
        .variability = {.rank_spread = 0.05, .kernel_spread = i % 2 * 0.2, .slow_ranks = {{0, 1.3}}}};
    options.variability.seed = static_cast<std::uint64_t>(i);
    SimulatedRun coarse;
    SimulatedRun again;
    {
      const std::jthread one([&] { coarse = simulate(random.schedule, random.groups, options); });
      const std::jthread other([&] { again = simulate(random.schedule, random.groups, options); });
    }
    REQUIRE(coarse.step_s == again.step_s);
    REQUIRE(coarse.fraction == again.fraction);
    options.detail = StepDetail::stages;
    const SimulatedRun fine = simulate(random.schedule, random.groups, options);
    REQUIRE(coarse.step_s == fine.step_s);
    REQUIRE(coarse.total_s == fine.total_s);
    options.variability.seed += 1000;
    n_moved += simulate(random.schedule, random.groups, options).total_s != fine.total_s ? 1 : 0;
  }
  CHECK(n_moved > 100);
}

TEST_CASE("GPUs that the plans do not have, and spreads that cannot be, are refused") {
  const BalancedStep step({.n_gpus = 8, .zero_stage = 0}, 1);
  CHECK_THROWS_WITH(step.run({.rank_spread = -0.1, .slow_ranks = {{8, 1.5}}}),
                    "rank_spread: expected 0..1, got -0.100000; slow_ranks[0].rank: expected 0..7, got 8");
}

}  // namespace
}  // namespace packsim
