#pragma once

#include <cstdint>
#include <vector>

#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/plans/plan_strategy.hpp"

namespace packsim {

/// Joins the plans of windows into one.
class PlanJoiner {
 public:
  /// Both are kept by reference.
  PlanJoiner(const Scenario& scenario, const MixedDraws& draws) : scenario_(scenario), draws_(draws) {}

  /// Adds the plan of the next window. spec: the strategy in the window. items: [n_samples of the plan], the
  /// draw that each is. left: the samples of the plan, ascending, that wait for the next window; their packs
  /// are not trained.
  void add(PlannedStrategy plan, const StrategySpec& spec, std::vector<std::uint32_t> items,
           const std::vector<std::uint32_t>& left);

  /// The plan keeps lengths of its own, as `draws` will not outlive it.
  void own_lengths() { owns_lengths_ = true; }

  /// The plan of the first window.
  const PlannedStrategy& first() const { return plans_.front(); }

  /// The plan of the run. spec: at the ZeRO stage of the first window. Throws std::logic_error if a draw is
  /// in no window, or in two.
  PlannedStrategy join(const StrategySpec& spec);

 private:
  void count(const PlannedStrategy& plan, const std::vector<std::uint32_t>& items,
             const std::vector<std::uint32_t>& left);

  const Scenario& scenario_;
  const MixedDraws& draws_;
  std::vector<PlannedStrategy> plans_;
  std::vector<std::vector<std::uint32_t>> items_;  // [n_windows][n_items]
  std::vector<PlannedWindow> windows_;
  PackCounts counts_;
  std::vector<std::int32_t> kept_tokens_;  // [n_draws], if any draw is cut
  bool owns_lengths_ = false;
  OrderMoves moves_;
  std::int64_t n_moves_ = 0;
};

}  // namespace packsim
