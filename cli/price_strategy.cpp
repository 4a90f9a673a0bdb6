#include "cli/price_strategy.hpp"

#include "models/kernels/schedule_kernels.hpp"
#include "models/step/overlap.hpp"
#include "models/step/plan_account.hpp"
#include "packing/trainings.hpp"

namespace packsim {

SimulationOptions simulation_options(const Scenario& scenario, const Topology* topology) {
  const bool contends = topology != nullptr;
  return {.detail = contends ? StepDetail::stages : StepDetail::micro_batches,
          .topology = topology,
          .slow_down = contends ? overlap_slow_down(scenario.hardware) : 1,
          .variability = scenario.variability};
}

PricedStrategy price_strategy(const Scenario& scenario, const PlannedStrategy& plan) {
  const Trainings trainings = count_trainings(plan.batches, plan.schedule);
  PricedStrategy priced;
  for (std::size_t g = 0; g < plan.plans.size(); ++g) {
    priced.pricers.push_back(std::make_unique<StepPricer>(scenario.model, scenario.cluster, plan.plans[g],
                                                          scenario.hardware, scenario.profile.factors));
    StepPricer& pricer = *priced.pricers.back();
    PricedGroup& group = priced.groups.emplace_back();
    group.plan = price_plan(pricer);
    group.packs.resize(plan.batches[g].size());
    PlanAccount account(pricer);
    double n_trained = 0;
    for (std::size_t p = 0; p < group.packs.size(); ++p) {
      const auto times = static_cast<double>(trainings.of_pack[g][p]);
      if (times == 0) continue;
      const MicroBatch& batch = plan.batches[g][p];
      group.packs[p] = pricer.micro_batch(batch.tokens + batch.padded_tokens,
                                          pack_documents(plan.packing, g, p, batch).lengths_tokens());
      account.add_micro_batches(group.packs[p], times);
      n_trained += times;
    }
    account.add_steps(trainings.rank_steps[g], n_trained, trainings.later_micro_batches[g]);
    priced.account.add(account.total());
  }
  return priced;
}

}  // namespace packsim
