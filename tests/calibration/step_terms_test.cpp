#include "calibration/fit/steps/step_terms.hpp"

#include <catch2/catch.hpp>

#include "models/step/pass/host_wait.hpp"
#include "models/step/pass/pass_time.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

using packsim_test::kData;
const TimeFactors kFactors = {1.5, 1.1, 2.0, 3.0, 0.04, 0.2};
const std::vector<StepPack> kPacks = {{.tokens = 32768, .lengths_tokens = {32768}},
                                      {.tokens = 32768, .lengths_tokens = {20000, 8000, 4768}}};

struct Machine {
  Transformer model = load_model("llama3.1-8b", kData);
  Cluster cluster = load_cluster_type("h100-sxm-80gb", kData);
  HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  Machine() { cluster.nodes = 4; }

  StepTerms terms(const ParallelPlan& plan, const std::vector<StepPack>& packs = kPacks) const {
    return StepTermsPricer(model, cluster, plan, hardware).step(packs);
  }
  StepPricer pricer(const ParallelPlan& plan, const TimeFactors& factors) const {
    FrameworkFactors all;
    set_time_factors(all, factors);
    return StepPricer(model, cluster, plan, hardware, all);
  }
};

const Machine& machine() {
  static const Machine machine;
  return machine;
}

double gather_s(const StatesPrice& states) {
  std::int64_t sum_ns = 0;
  for (const StateUnit& unit : states.units) sum_ns += unit.gather_ns;
  return 1e-9 * static_cast<double>(sum_ns);
}

double gradient_sum_s(const StatesPrice& states) {
  std::int64_t sum_ns = 0;
  for (const StateUnit& unit : states.units) sum_ns += unit.sum_ns;
  return 1e-9 * static_cast<double>(sum_ns);
}

double reduce_s(const StatesPrice& states) {
  std::int64_t sum_ns = 0;
  for (const StateUnit& unit : states.units) sum_ns += unit.reduce_ns;
  return 1e-9 * static_cast<double>(sum_ns);
}

}  // namespace

TEST_CASE("The terms of a step add up to what the pricer says at any factors") {
  for (const int sp_degree : {1, 8, 16}) {
    CAPTURE(sp_degree);
    const ParallelPlan plan{.n_gpus = 32,
                            .sequence = {.ulysses = sp_degree},
                            .zero_stage = 1,
                            .execution = {.overlaps_states = false},
                            .gc_layers = 20};
    StepPricer pricer = machine().pricer(plan, kFactors);
    const StatesPrice& states = pricer.states();
    REQUIRE(gradient_sum_s(states) > 0);  // of the second micro-batch, bf16
    double expected_s = gather_s(states) + reduce_s(states) + gradient_sum_s(states) +
                        1e-9 * static_cast<double>(states.optimizer_ns + states.step_ns);
    for (const StepPack& pack : kPacks) {
      const MicroBatchPrice price = pricer.micro_batch(pack.tokens, pack.lengths_tokens);
      expected_s += 1e-9 * static_cast<double>(forward_time(price, pricer.chunk(0)).total_ns +
                                               backward_time(price, pricer.chunk(0)).total_ns);
    }
    // Whole nanoseconds of some thousand kernels.
    CHECK(machine().terms(plan).time_s(kFactors) == Approx(expected_s).epsilon(1e-6));
  }
}

TEST_CASE("Each factor is on what it is named after") {
  const StepTerms alone = machine().terms({.n_gpus = 32, .execution = {.overlaps_states = false}});
  CHECK(alone.part_s[2] == 0);
  CHECK(alone.part_s[3] == 0);
  CHECK(alone.part_s[4] == Approx(2));  // micro-batches
  CHECK(alone.part_s[5] == Approx(1));
  const StepTerms in_node =
      machine().terms({.n_gpus = 32, .sequence = {.ulysses = 8}, .execution = {.overlaps_states = false}});
  CHECK(in_node.part_s[2] > 0);
  CHECK(in_node.part_s[3] == 0);
  // A GPU has an eighth of the tokens, and of the heads. The optimizer's part is the same, and small
  // products are not as fast.
  CHECK(in_node.part_s[0] == Approx(alone.part_s[0] / 8).epsilon(0.1));
  CHECK(in_node.part_s[1] == Approx(alone.part_s[1] / 8).epsilon(0.1));
  const StepTerms between =
      machine().terms({.n_gpus = 32, .sequence = {.ulysses = 16}, .execution = {.overlaps_states = false}});
  CHECK(between.part_s[2] == 0);
  CHECK(between.part_s[3] > 0);
}

TEST_CASE("A GPU waits for its host as long as the pricer says at any factors and launches") {
  const std::vector<StepPack> packs = {{.tokens = 2000, .lengths_tokens = {900, 1100}},
                                       {.tokens = 64, .lengths_tokens = {64}}};
  ParallelPlan plan{.n_gpus = 1, .execution = {.kernels = &kEagerKernels}, .gc_layers = 8};
  const StepLaunches launches =
      StepTermsPricer(machine().model, machine().cluster, plan, machine().hardware).launches(packs);
  for (const double launch_s : {1e-6, 5e-5, 1e-4}) {
    CAPTURE(launch_s);
    plan.execution.launch_s = launch_s;
    StepPricer pricer = machine().pricer(plan, kFactors);
    const StatesPrice& states = pricer.states();
    std::int64_t wait_ns = 0;
    std::int64_t lead_ns = 0;
    for (const StepPack& pack : packs) {
      const HostWait wait = host_wait(pricer.micro_batch(pack.tokens, pack.lengths_tokens), pricer.chunk(0));
      wait_ns += wait.wait_ns;
      lead_ns = wait.lead_ns;
    }
    if (lead_ns == 0) {
      for (const StateUnit& unit : states.units) wait_ns += unit.sum_wait_ns;
    }
    wait_ns += std::max<std::int64_t>(0, states.optimizer_host_ns - states.optimizer_ns - lead_ns);
    CHECK(launches.waits_s(kFactors, launch_s) ==
          Approx(1e-9 * static_cast<double>(wait_ns)).epsilon(1e-4).margin(1e-7));
    CHECK((launch_s < 5e-5 || wait_ns > 0));
  }
  CHECK(launches.waits_s(kFactors, 0) == 0);
}

TEST_CASE("Attention of a pack is the part that depends on its documents") {
  const ParallelPlan plan{.n_gpus = 32, .sequence = {.ulysses = 8}, .gc_layers = 8};
  StepTermsPricer pricer(machine().model, machine().cluster, plan, machine().hardware);
  const StepTerms terms = pricer.step(kPacks);
  CHECK(pricer.attention_s(kPacks[0]) + pricer.attention_s(kPacks[1]) == Approx(terms.part_s[1]));
  CHECK(pricer.attention_s(kPacks[0]) > pricer.attention_s(kPacks[1]));
}

TEST_CASE("Weights and gradients travel as often as the ZeRO stage has it, and what overlaps is left out") {
  struct Expected {
    int zero_stage;
    double gathers, reductions;  // of two micro-batches, all units
  };
  for (const Expected& expected :
       {Expected{0, 0, 1}, Expected{1, 1, 1}, Expected{2, 1, 2}, Expected{3, 4, 2}}) {
    CAPTURE(expected.zero_stage);
    ParallelPlan plan{.n_gpus = 32,
                      .sequence = {.ulysses = 4},
                      .zero_stage = expected.zero_stage,
                      .execution = {.overlaps_states = false}};
    const StatesPrice states = machine().pricer(plan, {}).states();
    CHECK(machine().terms(plan).fixed_s ==
          Approx(expected.gathers * gather_s(states) + expected.reductions * reduce_s(states)));
    plan.execution.overlaps_states = true;
    const StateUnit& first = states.units.front();
    const double gathered_s =
        expected.zero_stage == 3 ? 1e-9 * static_cast<double>(first.gather_ns) : gather_s(states);
    CHECK(machine().terms(plan).fixed_s == Approx(gathered_s + 1e-9 * static_cast<double>(first.reduce_ns)));
  }
}
