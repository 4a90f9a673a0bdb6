#include "experiment/pricers/shared_prices.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace packsim {

ScenarioPricers::ScenarioPricers(const Scenario& scenario)
    : scenario_(scenario), kernels_(std::make_shared<KernelPricer>(scenario_.hardware, scenario_.cluster)) {}

StepPricer& ScenarioPricers::of(const ParallelPlan& plan) {
  ParallelPlan key = plan;
  key.gc_layers = 0;
  auto known = std::ranges::find(pricers_, key, &std::pair<ParallelPlan, std::unique_ptr<StepPricer>>::first);
  if (known == pricers_.end()) {
    pricers_.emplace_back(
        key, std::make_unique<StepPricer>(scenario_.model, scenario_.cluster, key, scenario_.hardware,
                                          scenario_.profile.factors, kernels_));
    known = pricers_.end() - 1;
  }
  known->second->set_gc_layers(plan.gc_layers);
  return *known->second;
}

const PlanCost& ScenarioPricers::cost_at(const ParallelPlan& plan, std::int64_t capacity_tokens,
                                         int points_per_octave) {
  const auto known = std::ranges::find_if(costs_, [&](const KnownCost& one) {
    return one.capacity_tokens == capacity_tokens && one.points_per_octave == points_per_octave &&
           one.plan == plan;
  });
  if (known != costs_.end()) return known->cost;
  PlanCost cost = plan_cost(of(plan), capacity_tokens, points_per_octave);
  return costs_.emplace_back(plan, capacity_tokens, points_per_octave, std::move(cost)).cost;
}

const PlanCost& ScenarioPricers::cost(const ParallelPlan& plan, std::int64_t capacity_tokens) {
  constexpr int kPoints = 16;
  return cost_at(plan, capacity_tokens, kPoints);
}

const PlanCost& ScenarioPricers::rough_cost(const ParallelPlan& plan, std::int64_t capacity_tokens) {
  constexpr int kFewPoints = 2;
  return cost_at(plan, capacity_tokens, kFewPoints);
}

void ScenarioPricers::forget_interpolated() {
  for (const auto& [plan, pricer] : pricers_) pricer->forget_interpolated();
}

std::shared_ptr<ScenarioPricers> SharedPrices::lend() {
  std::unique_ptr<ScenarioPricers> pricers;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      pricers = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!pricers) pricers = std::make_unique<ScenarioPricers>(scenario_);
  // Whoever an error ended has perhaps left a price that is there, but was not computed.
  return {pricers.release(), [this, n_errors = std::uncaught_exceptions()](ScenarioPricers* lent) {
            std::unique_ptr<ScenarioPricers> returned(lent);
            if (std::uncaught_exceptions() == n_errors) take_back(std::move(returned));
          }};
}

void SharedPrices::take_back(std::unique_ptr<ScenarioPricers> pricers) noexcept {
  try {
    pricers->forget_interpolated();
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(pricers));
  } catch (const std::bad_alloc&) {
    // They are computed again.
  }
}

}  // namespace packsim
