#include "models/step/plan_account.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "expert_models.hpp"
#include "llama_8b.hpp"
#include "models/step/pass/pass_time.hpp"
#include "pricing.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using Lengths = std::vector<std::int32_t>;

const std::vector<ParallelPlan> kPlans = {
    {.n_gpus = 32, .sequence = {.ulysses = 8}, .zero_stage = 1, .gc_layers = 11},
    {.n_gpus = 32, .sequence = {.ulysses = 8}, .zero_stage = 3, .gc_layers = 32},
    {.n_gpus = 32, .tp_degree = 4, .zero_stage = 2},
    {.n_gpus = 32, .tp_degree = 2, .pp_degree = 4, .zero_stage = 1, .gc_layers = 10},
    {.n_gpus = 32, .sequence = {.ulysses = 2, .ring = 4}, .zero_stage = 0, .gc_layers = 5},
};

double of(const PriceAccount& account, Cause cause) {
  return account.total(cause).time_s;
}

}  // namespace

TEST_CASE("The account of micro-batches is that of their times on all GPUs of their rank") {
  std::mt19937 generator(1);
  for (const ParallelPlan& plan : kPlans) {
    Pricing pricing(kLlama8b, plan);
    PlanAccount account(pricing.pricer);
    NsByCause expected_ns = {};
    for (int i = 0; i < 20; ++i) {
      const auto length = static_cast<std::int32_t>(1000 + generator() % 60000);
      const auto other = static_cast<std::int32_t>(1 + generator() % 9000);
      const MicroBatchPrice price = pricing.pricer.micro_batch(length + other, Lengths{length, other});
      const int times = 1 + i % 3;
      account.add_micro_batches(price, times);
      for (int chunk = 0; chunk < pricing.pricer.plan().n_chunks(); ++chunk) {
        WorkTime work = forward_time(price, pricing.pricer.chunk(chunk));
        work += backward_time(price, pricing.pricer.chunk(chunk));
        for (std::size_t c = 0; c < kNCauses; ++c)
          expected_ns[c] += plan.sequence_gpus() * times * work.by_cause_ns[c];
      }
    }
    const PriceAccount total = account.total();
    for (const Cause cause :
         {Cause::linear, Cause::attention, Cause::recompute, Cause::tensor, Cause::sequence}) {
      // A ring's exposed transfers are a part of those that there are.
      if (cause == Cause::sequence && plan.sequence.ring > 1) continue;
      INFO(cause_name(cause));
      CHECK(of(total, cause) ==
            Approx(1e-9 * static_cast<double>(expected_ns[static_cast<std::size_t>(cause)])).epsilon(1e-5));
    }
  }
}

TEST_CASE("Standings and errors of an account are those of its curves") {
  Pricing pricing(kLlama8b, kPlans.front());
  PlanAccount account(pricing.pricer);
  const Lengths documents = {9000, 7384};
  const MicroBatchPrice price = pricing.pricer.micro_batch(16384, documents);
  account.add_micro_batches(price, 3);
  const PriceAccount total = account.total();
  const TimeEstimate& forward = price.attention_forward.computed;
  const TimeEstimate& backward = price.attention_backward.computed;
  // 8 GPUs, 32 layers, 3 times; 11 of the layers forward once more.
  const AccountedTime attention = total.total(Cause::attention);
  CHECK(attention.time_s == Approx(8 * 32 * 3 * (forward.time_s + backward.time_s)));
  CHECK(attention.error_s == Approx(8 * 32 * 3 * (forward.error_s + backward.error_s)));
  CHECK(total.of(Cause::attention).size() == 2);
  const auto& recompute = total.of(Cause::recompute);
  const CurveName curve{"attention pass=fwd", "attention pass=fwd heads=4 kv_heads=1 head_dim=128"};
  REQUIRE(recompute.contains(curve));
  CHECK(recompute.at(curve).time_s == Approx(8 * 11 * 3 * forward.time_s));
  // Matrix products and elementwise kernels: nothing was measured of them.
  const AccountedTime linear = total.total(Cause::linear);
  CHECK(linear.evidence_s[static_cast<std::size_t>(Evidence::missing)] == Approx(linear.time_s));
}

TEST_CASE("States travel as often as their ZeRO stage has it") {
  // 10 steps of a rank, 30 micro-batches, so 20 after another one.
  for (const int zero_stage : {0, 1, 2, 3}) {
    ParallelPlan plan{.n_gpus = 32, .sequence = {.ulysses = 4}};
    plan.zero_stage = zero_stage;
    Pricing pricing(kLlama8b, plan);
    PlanAccount account(pricing.pricer);
    account.add_steps(10, 30, 20);
    const StatesPrice& states = pricing.pricer.states();
    const double reduce_s = of(states.reductions, Cause::states);
    const double gather_s = of(states.gathers, Cause::states);
    const double n_reductions = zero_stage < 2 ? 10 : 30;
    const double n_gathers = zero_stage == 3 ? 60 : 10;  // forward and backward
    CHECK((gather_s > 0) == (zero_stage > 0));
    const PriceAccount total = account.total();
    CHECK(of(total, Cause::states) == Approx(4 * (n_reductions * reduce_s + n_gathers * gather_s)));
    CHECK(of(total, Cause::linear) == Approx(4 * 20 * of(states.sums, Cause::linear)));
    CHECK(of(total, Cause::optimizer) == Approx(4 * 10 * of(states.optimizer, Cause::optimizer)));
  }
}
