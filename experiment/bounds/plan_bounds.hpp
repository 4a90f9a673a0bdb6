#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "experiment/pricers/shared_prices.hpp"
#include "planning/bound/lower_bound.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The lower bounds of a job by parallel plan.
class PlanBounds {
 public:
  /// The scenario and the pricers are kept by reference.
  PlanBounds(const Scenario& scenario, BoundSpace space, ScenarioPricers& pricers)
      : scenario_(scenario), space_(std::move(space)), pricers_(pricers) {}

  /// The least of several plans' bounds; none if no plan has one. Plans whose packs alone take longer than
  /// the least bound are left out, by prices that are accurate to kFloorAccuracy.
  std::optional<LowerBound> least(std::span<const ParallelPlan> plans, std::span<const LengthCount> lengths);
  /// The bound of one plan.
  std::optional<LowerBound> at(const ParallelPlan& plan, std::span<const LengthCount> lengths);

 private:
  const Scenario& scenario_;
  BoundSpace space_;
  ScenarioPricers& pricers_;
  // Only the latest is kept, as each holds many prices. Its plan has ZeRO stage 0.
  std::optional<std::pair<ParallelPlan, std::unique_ptr<LowerBounds>>> latest_;
};

}  // namespace packsim
