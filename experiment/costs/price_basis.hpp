#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "experiment/results/strategy_result.hpp"
#include "models/step/uncertainty.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What the prices of a run rest on, and how far its time may be off.
struct PriceBasis {
  EvidenceShares evidence;
  std::array<EvidenceShares, kNCauses> evidence_by_cause = {};  ///< shares of all GPU time
  Uncertainty uncertainty;
};

/// fraction: share of the run's GPU time by cause. busiest_fraction: the same of the ranks that the others
/// wait for (SimulatedRun::busiest_fraction), whose errors are the run's. account: the evidence for its
/// prices. plans: those of its groups. parts: [n_plans] of the tokens.
PriceBasis price_basis(const Scenario& scenario, std::span<const ParallelPlan> plans,
                       std::span<const double> parts, const std::array<double, kNCauses>& fraction,
                       const std::array<double, kNCauses>& busiest_fraction, const PriceAccount& account);

/// The same before anything is packed: of a step of full packs that are one document each. plan: with its
/// checkpointed layers; it must have no plan_mistakes().
PriceBasis price_basis_of_full_packs(const Scenario& scenario, const ParallelPlan& plan,
                                     std::int64_t capacity_tokens, int micro_batches_per_rank);

}  // namespace packsim
