#include "experiment/pricers/shared_prices.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <new>
#include <utility>
#include <vector>

namespace packsim {

namespace {

constexpr int kPoints = 16;  // an octave of pack lengths
constexpr int kFewPoints = 2;

}  // namespace

ScenarioPricers::ScenarioPricers(const Scenario& scenario)
    : scenario_(scenario), store_(std::make_shared<PriceStore>(scenario_.hardware, scenario_.cluster)) {}

StepPricer& ScenarioPricers::of(const ParallelPlan& plan) {
  ParallelPlan key = plan;
  key.gc_layers = 0;
  KnownPricer& known = pricers_[key];
  if (!known.pricer)
    known.pricer = std::make_unique<StepPricer>(scenario_.model, scenario_.cluster, key, scenario_.hardware,
                                                scenario_.profile.factors, store_);
  ++known.n_asked;
  known.pricer->set_gc_layers(plan.gc_layers);
  return *known.pricer;
}

const PlanCost& ScenarioPricers::cost_at(const ParallelPlan& plan, std::int64_t capacity_tokens,
                                         int points_per_octave) {
  CostsByLength& costs = costs_[plan];
  const std::pair length_and_points(capacity_tokens, points_per_octave);
  if (const auto known = costs.find(length_and_points); known != costs.end()) return known->second;
  return costs.emplace(length_and_points, plan_cost(of(plan), capacity_tokens, points_per_octave))
      .first->second;
}

const PlanCost& ScenarioPricers::cost(const ParallelPlan& plan, std::int64_t capacity_tokens) {
  return cost_at(plan, capacity_tokens, kPoints);
}

const PlanCost& ScenarioPricers::rough_cost(const ParallelPlan& plan, std::int64_t capacity_tokens) {
  return cost_at(plan, capacity_tokens, kFewPoints);
}

void ScenarioPricers::forget_interpolated() {
  for (auto& [plan, known] : pricers_) known.pricer->forget_interpolated();
}

void ScenarioPricers::forget_rare_plans() {
  constexpr std::size_t kMostPlans = 64;
  if (pricers_.size() > kMostPlans) {
    std::vector<Pricers::iterator> often;  // asked for most comes first
    for (auto known = pricers_.begin(); known != pricers_.end(); ++known) often.push_back(known);
    std::ranges::nth_element(often, often.begin() + kMostPlans, std::greater{},
                             [](const auto& known) { return known->second.n_asked; });
    for (std::size_t i = kMostPlans; i < often.size(); ++i) pricers_.erase(often[i]);
  }
  store_->forget_unused_grids();
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
    pricers->forget_rare_plans();
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(pricers));
  } catch (const std::bad_alloc&) {
    // They are computed again.
  }
}

}  // namespace packsim
