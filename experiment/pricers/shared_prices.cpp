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
  if (recent_.empty() || recent_.back() != known.pricer.get()) recent_.push_back(known.pricer.get());
  known.pricer->set_gc_layers(plan.gc_layers);
  return *known.pricer;
}

const PlanCost& ScenarioPricers::cost_at(const ParallelPlan& plan, std::int64_t capacity_tokens,
                                         int points_per_octave) {
  KnownCosts& costs = costs_[plan];
  const std::pair length_and_points(capacity_tokens, points_per_octave);
  const auto known = costs.by_length.find(length_and_points);
  if (known != costs.by_length.end()) return known->second;
  PlanCost cost = plan_cost(of(plan), capacity_tokens, points_per_octave, &costs.pack_times);
  return costs.by_length.emplace(length_and_points, std::move(cost)).first->second;
}

const PlanCost& ScenarioPricers::cost(const ParallelPlan& plan, std::int64_t capacity_tokens) {
  return cost_at(plan, capacity_tokens, kPoints);
}

const PlanCost& ScenarioPricers::rough_cost(const ParallelPlan& plan, std::int64_t capacity_tokens) {
  return cost_at(plan, capacity_tokens, kFewPoints);
}

void ScenarioPricers::forget_interpolated() {
  for (StepPricer* pricer : recent_) pricer->forget_interpolated();
  recent_.clear();
}

void ScenarioPricers::forget_rare_plans() {
  constexpr std::size_t kMostPlans = 64;
  forget_interpolated();
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
    pricers->forget_rare_plans();
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(pricers));
  } catch (const std::bad_alloc&) {
    // They are computed again.
  }
}

}  // namespace packsim
