#include "experiment/estimate_work.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace packsim;

namespace {

Scenario job_of(int nodes) {
  Scenario scenario;
  scenario.cluster.nodes = nodes;
  scenario.cluster.gpus_per_node = 8;
  scenario.training.tokens_per_iteration = 1000;
  scenario.strategies.resize(1);
  scenario.strategies[0].strategy = "isf";
  scenario.strategies[0].groups = {{.capacity_tokens = 500, .sequence = {}, .gc_layers = {}}};
  return scenario;
}

const std::vector<std::int32_t> kLengths(100, 10);  // 1 iteration

}  // namespace

TEST_CASE("The estimate of a given plan is that of packing samples and simulating packs") {
  Scenario scenario = job_of(1);
  // 100 samples x 3.6e-7 s, and 1 000 tokens in 2 packs of 500 x 5e-7 s.
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(3.6e-5 + 1e-6));
  // With stages a step is simulated event by event, 4e-5 s a pack; with variability, twice.
  scenario.plan.pp_degree = 4;
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(3.6e-5 + 8e-5));
  scenario.variability.rank_spread = 0.1;
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(3.6e-5 + 16e-5));
  // 3 epochs are packed once, or each anew.
  scenario.training.epochs = 3;
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(3.6e-5 + 48e-5));
  scenario.strategies[0].repack_each_epoch = true;
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(3 * 3.6e-5 + 48e-5));
}

TEST_CASE("Rounds of isf that dissolve no packs are not in the estimate") {
  Scenario scenario = job_of(1);
  const double work_s = estimated_work_s(scenario, kLengths, false);
  scenario.strategies[0].options.set("rounds", std::int64_t{1'000'000});
  CHECK(estimated_work_s(scenario, kLengths, false) == work_s);
}

TEST_CASE("The estimate has the search for plans, and of the planner also its rivals") {
  Scenario scenario = job_of(1);
  scenario.strategies[0].searches_plan = true;
  // 38 plans x (9e-3 s + all samples 3.6e-5 + 1e-6), beside the strategy itself.
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(3.7e-5 + 38 * (9e-3 + 3.7e-5)));
  // Of 100 iterations, 32 are tried.
  scenario.training.tokens_per_iteration = 10;
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(3.7e-5 + 38 * (9e-3 + 0.32 * 3.7e-5)));
  // The planner tries 230 plans, and 4 with all samples.
  scenario.strategies[0].strategy = "planner";
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(5 * 3.7e-5 + 230 * (9e-3 + 0.32 * 3.7e-5)));
}

TEST_CASE("The estimate at op level grows with the GPUs, although there is one iteration") {
  // 524 288 GPUs x (8e-4 s for the first iteration + 5e-5 s for each): over 7 minutes.
  CHECK(estimated_work_s(job_of(65'536), kLengths, true) == Approx(3.6e-5 + 524'288 * 8.5e-4));
}

TEST_CASE(
    "The estimate of a trace has one iteration at op level, and all at step level to choose it by time") {
  Scenario scenario = job_of(65'536);
  // 100 samples x 3.6e-7 s, and 524 288 GPUs x 8e-4 s.
  CHECK(estimated_trace_s(scenario, kLengths, false) == Approx(3.6e-5 + 524'288 * 8e-4));
  // 10^9 epochs of 2 packs, of 5e-7 s.
  scenario.training.epochs = 1'000'000'000;
  CHECK(estimated_trace_s(scenario, kLengths, true) == Approx(3.6e-5 + 524'288 * 8e-4 + 1e3));
}

TEST_CASE("The estimate of tuning grows with the cases, and with the iterations that the data have") {
  Scenario scenario = job_of(1);
  // The data are 1 iteration, fewer than 10. Each of 4 cases packs all: 100 x 3.6e-7 + 3e-5. The search packs
  // them once more.
  CHECK(estimated_tune_s(scenario, kLengths, 4, 10) == Approx(4 * 6.6e-5 + 3.6e-5));
  // 100 iterations of 10 tokens, of which 10 are a tenth of the data.
  scenario.training.tokens_per_iteration = 10;
  CHECK(estimated_tune_s(scenario, kLengths, 4, 10) == Approx(4 * (3.6e-6 + 3e-4) + 3.6e-5));
  // Epochs are not tuned over.
  scenario.training.epochs = 7;
  CHECK(estimated_tune_s(scenario, kLengths, 4, 10) == Approx(4 * (3.6e-6 + 3e-4) + 3.6e-5));
}
