#include "validation/step_simulation.hpp"

#include <stdexcept>

#include "models/step/overlap.hpp"
#include "models/step/plan_account.hpp"
#include "models/step/step_pricer.hpp"
#include "sim/engine/op_account.hpp"
#include "sim/run/run_step.hpp"

namespace packsim {
namespace {

// Mean over the simulated lanes, one of each pipeline stage.
SimulatedStep account_step(const StepRun& run) {
  OpAccount account;
  take_account(run.graph, run.engine, account);
  SimulatedStep step;
  step.step_s = to_seconds(run.end);
  const double share = 1.0 / static_cast<double>(account.ranks.size());
  for (const RankAccount& rank : account.ranks) {
    for (std::size_t c = 0; c < step.by_cause_s.size(); ++c)
      step.by_cause_s[c] += share * to_seconds(rank.busy[c] + rank.exposed[c]);
    step.idle_s += share * to_seconds(rank.idle);
  }
  return step;
}

}  // namespace

SimulatedStep simulate_step(const PublishedStep& step, const HardwareProfile& hardware,
                            const FrameworkFactors& factors) {
  const std::vector<PlanMistake> mistakes = plan_mistakes(step.model, step.cluster, step.plan);
  if (!mistakes.empty()) throw std::invalid_argument(mistakes.front().text());

  StepPricer pricer(step.model, step.cluster, step.plan, hardware, factors);
  const PricedPlan plan = price_plan(pricer);
  std::vector<MicroBatchPrice> prices;
  for (const PublishedMicroBatches& batch : step.micro_batches)
    prices.push_back(pricer.micro_batch(batch.documents.tokens(), batch.documents.lengths_tokens()));
  RankWork rank{.plan = &plan};
  for (std::size_t i = 0; i < prices.size(); ++i) {
    rank.micro_batches.insert(rank.micro_batches.end(),
                              static_cast<std::size_t>(step.micro_batches[i].n_micro_batches), &prices[i]);
  }

  StepArena arena({.detail = StepDetail::stages, .slow_down = overlap_slow_down(hardware)});
  SimulatedStep result = account_step(run_step(std::span(&rank, 1), arena));
  PlanAccount account(pricer);
  double n_micro_batches = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    account.add_micro_batches(prices[i], step.micro_batches[i].n_micro_batches);
    n_micro_batches += step.micro_batches[i].n_micro_batches;
  }
  account.add_steps(1, n_micro_batches, n_micro_batches - 1);
  result.account = account.total();
  return result;
}

}  // namespace packsim
