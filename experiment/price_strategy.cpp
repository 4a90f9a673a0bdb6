#include "experiment/price_strategy.hpp"

#include <map>
#include <utility>

#include "models/coverage/schedule_kernels.hpp"
#include "models/step/overlap.hpp"
#include "models/step/plan_account.hpp"
#include "packing/schedule/pack_use_counts.hpp"

namespace packsim {

SimulationOptions simulation_options(const Scenario& scenario, const Topology* topology) {
  const bool contends = topology != nullptr;
  return {.detail = contends ? StepDetail::stages : StepDetail::micro_batches,
          .topology = topology,
          .slow_down = contends ? overlap_slow_down(scenario.hardware) : 1,
          .variability = scenario.variability};
}

PricedStrategy price_strategy(const Scenario& scenario, const PlannedStrategy& plan) {
  const PackUseCounts counts = count_pack_uses(plan.batches, plan.schedule);
  PricedStrategy priced;
  const auto kernels = std::make_shared<KernelPricer>(scenario.hardware, scenario.cluster);
  // One for all groups that differ in their checkpointed layers alone.
  std::map<SequenceParallelism, StepPricer*> pricer_of;
  for (std::size_t g = 0; g < plan.plans.size(); ++g) {
    StepPricer*& known = pricer_of[plan.plans[g].sequence];
    if (known == nullptr) {
      priced.pricers.push_back(std::make_unique<StepPricer>(scenario.model, scenario.cluster, plan.plans[g],
                                                            scenario.hardware, scenario.profile.factors,
                                                            kernels));
      known = priced.pricers.back().get();
    }
    StepPricer& pricer = *known;
    pricer.set_gc_layers(plan.plans[g].gc_layers);
    PricedGroup& group = priced.groups.emplace_back();
    group.plan = price_plan(pricer);
    group.packs.resize(plan.batches[g].size());
    PlanAccount account(pricer);
    double n_trained = 0;
    for (std::size_t p = 0; p < group.packs.size(); ++p) {
      const auto times = static_cast<double>(counts.of_pack[g][p]);
      if (times == 0) continue;
      const MicroBatch& batch = plan.batches[g][p];
      group.packs[p] = pricer.micro_batch(batch.tokens + batch.padded_tokens,
                                          pack_documents(plan.packing, g, p, batch).lengths_tokens());
      account.add_micro_batches(group.packs[p], times);
      n_trained += times;
    }
    account.add_steps(counts.rank_steps[g], n_trained, counts.later_micro_batches[g]);
    priced.account.add(account.total());
  }
  return priced;
}

}  // namespace packsim
