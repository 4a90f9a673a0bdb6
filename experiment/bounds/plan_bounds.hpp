#pragma once

#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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
  /// the least bound are left out, by prices that are accurate to kFloorAccuracy. Plans that differ in what
  /// is in host memory share a bound: it has the time of the one with least, and the memory of all together.
  /// Of those that only differ in what checkpointed layers recompute, or in their virtual stages, only one is
  /// bounded where even without any recomputation it is above the least bound.
  std::optional<LowerBound> least(std::span<const ParallelPlan> plans, std::span<const LengthCount> lengths);
  /// The bound of one plan.
  std::optional<LowerBound> at(const ParallelPlan& plan, std::span<const LengthCount> lengths);

 private:
  LowerBounds& bounds_of(const ParallelPlan& plan, const Offload& most_offload);

  const Scenario& scenario_;
  BoundSpace space_;
  ScenarioPricers& pricers_;
  // Only those of the latest plan are kept, as each holds many prices: one for each kind of checkpointing.
  struct BoundsOfPlan {
    ParallelPlan plan;  // with ZeRO stage 0
    Offload most_offload;
    LowerBounds bounds;
  };
  std::deque<BoundsOfPlan> latest_;
};

}  // namespace packsim
