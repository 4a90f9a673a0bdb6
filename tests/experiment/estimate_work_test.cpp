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
