// Exchange that costs nothing, in a what-if.
#include <catch2/catch.hpp>
#include <numeric>

#include "models/step/pass/pass_time.hpp"
#include "models/step/plan_account.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/pricing.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

FrameworkFactors factors_with_free(Cause cause) {
  FrameworkFactors factors;
  factors.free_exchange.add(cause);
  return factors;
}

// A micro-batch through the whole model, and a step, by cause.
NsByCause time_by_cause(StepPricer& pricer) {
  const MicroBatchPrice price = pricer.micro_batch(8192, std::vector<std::int32_t>{3000, 5000});
  WorkTime time;
  for (int chunk = 0; chunk < pricer.plan().n_chunks(); ++chunk) {
    time += forward_time(price, pricer.chunk(chunk));
    time += backward_time(price, pricer.chunk(chunk));
    for (const StateUnit& unit : pricer.states(chunk).units)
      time.add(Cause::states, unit.gather_ns + unit.reduce_ns + unit.fetch_ns + unit.drain_ns);
    time.add(Cause::optimizer, pricer.states(chunk).optimizer_ns);
  }
  time.add(Cause::pipeline, price.stage_transfer_ns + price.stage_transfer_in_node_ns);
  return time.by_cause_ns;
}

PriceAccount whole_account(StepPricer& pricer) {
  pricer.keep_kernels();
  PlanAccount account(pricer);
  account.add_micro_batches(pricer.micro_batch(8192, std::vector<std::int32_t>{3000, 5000}), 2);
  account.add_steps(1, 2, 1);
  return account.total();
}

const std::vector<ParallelPlan> kPlansToFree = {
    {.n_gpus = 32, .sequence = {.ulysses = 8}, .gc_layers = 7},
    {.n_gpus = 64, .tp_degree = 2, .sequence = {.ulysses = 2, .ring = 2}, .pp_degree = 2, .zero_stage = 1},
    {.n_gpus = 32, .sequence = {.ulysses = 2}, .zero_stage = 3},
    {.n_gpus = 32,
     .sequence = {.ulysses = 1},
     .zero_stage = 3,
     .gc_layers = 4,
     .offload = {.optimizer = true, .weights = true, .gradients = true, .activations = true}},
    {.n_gpus = 32, .tp_degree = 4, .execution = {.overlaps_tensor = true}},
};

}  // namespace

TEST_CASE("Free exchange takes no time and no kernel, and everything else takes what it took") {
  int n_changed = 0;
  for (const Transformer& model : {kLlama8b, kDeepseekV2}) {
    for (ParallelPlan plan : kPlansToFree) {
      if (model.has_experts()) plan.ep_degree = 8;
      if (!plan_mistakes(model, example_cluster(), plan).empty()) continue;
      Pricing real(model, plan);
      const NsByCause before = time_by_cause(real.pricer);
      const PriceAccount real_account = whole_account(real.pricer);
      for (const Cause freed : kExchangeCauses) {
        CAPTURE(model.name, plan.tp_degree, plan.zero_stage, cause_name(freed));
        Pricing what_if(model, plan, factors_with_free(freed));
        const NsByCause after = time_by_cause(what_if.pricer);
        const PriceAccount account = whole_account(what_if.pricer);
        for (std::size_t c = 0; c < before.size(); ++c) {
          const auto cause = static_cast<Cause>(c);
          CAPTURE(cause_name(cause));
          CHECK(after[c] == (cause == freed ? 0 : before[c]));
          CHECK(account.of(cause).size() == (cause == freed ? 0 : real_account.of(cause).size()));
          CHECK(account.kernels(cause).size() == (cause == freed ? 0 : real_account.kernels(cause).size()));
        }
        n_changed += before[static_cast<std::size_t>(freed)] > 0 ? 1 : 0;
      }
    }
  }
  CHECK(n_changed >= 10);
}
