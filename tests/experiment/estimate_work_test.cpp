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
  return scenario;
}

const std::vector<std::int32_t> kLengths(100, 10);  // 1 iteration

}  // namespace

TEST_CASE("The estimate of isf grows with its rounds") {
  Scenario scenario = job_of(1);
  // 100 samples x 5e-7 s with the default 50 rounds, and an iteration of 3e-5 s.
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(8e-5));
  // 10^6 rounds are 20 000 times 50.
  scenario.strategies[0].options.set("rounds", std::int64_t{1'000'000});
  CHECK(estimated_work_s(scenario, kLengths, false) == Approx(1 + 3e-5));
}

TEST_CASE("The estimate at op level grows with the GPUs, although there is one iteration") {
  // 524 288 GPUs x (8e-4 s for the first iteration + 5e-5 s for each): over 7 minutes.
  CHECK(estimated_work_s(job_of(65'536), kLengths, true) == Approx(5e-5 + 524'288 * 8.5e-4));
}

TEST_CASE(
    "The estimate of a trace has one iteration at op level, and all at step level to choose it by time") {
  Scenario scenario = job_of(65'536);
  // 100 samples x 5e-7 s, and 524 288 GPUs x 8e-4 s.
  CHECK(estimated_trace_s(scenario, kLengths, false) == Approx(5e-5 + 524'288 * 8e-4));
  // 10^9 epochs of one iteration each, of 3e-5 s.
  scenario.training.epochs = 1'000'000'000;
  CHECK(estimated_trace_s(scenario, kLengths, true) == Approx(5e-5 + 524'288 * 8e-4 + 3e4));
}

TEST_CASE("The estimate of tuning grows with the cases, and with the iterations that the data have") {
  Scenario scenario = job_of(1);
  // The data are 1 iteration, fewer than 10. Each of 4 cases packs all: 100 x 5e-7 + 3e-5. The search packs
  // them once more.
  CHECK(estimated_tune_s(scenario, kLengths, 4, 10) == Approx(4 * 8e-5 + 5e-5));
  // 100 iterations of 10 tokens, of which 10 are a tenth of the data.
  scenario.training.tokens_per_iteration = 10;
  CHECK(estimated_tune_s(scenario, kLengths, 4, 10) == Approx(4 * (5e-6 + 3e-4) + 5e-5));
  // Epochs are not tuned over.
  scenario.training.epochs = 7;
  CHECK(estimated_tune_s(scenario, kLengths, 4, 10) == Approx(4 * (5e-6 + 3e-4) + 5e-5));
}
