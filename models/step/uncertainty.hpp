#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "models/framework_profile.hpp"
#include "models/step/price_account.hpp"
#include "models/step/profile_doubts.hpp"
#include "models/step/time_errors.hpp"

namespace packsim {

/// One reason why a run may take another time than estimated, as a standard deviation of the time's
/// logarithm.
struct UncertaintySource {
  std::string reason;  ///< a clause, "no step of profile deepspeed-ulysses-h100 had experts"
  double relative_error = 0;
};

/// How well the time of a run is known.
struct Uncertainty {
  TimeErrors errors;
  std::vector<UncertaintySource> sources;  ///< independent of each other, the largest first
};

/// The share of the variance of a profile's left-out error that each run has to itself. The rest is common to
/// all runs of a job and cancels out in their ratios. Fitted to ratios of steps of the same stack, model and
/// GPUs (docs/accuracy/time_ratios.md).
inline constexpr double kOwnShareOfLeftOutError = 0.45;

/// An error that few independent groups showed is not well known itself. Times this factor, it gives the 90 %
/// interval of Student's distribution: 1.78 for 2 groups, 1.15 for 7, near 1 for many; 1 for 0, where the
/// number is not known.
double few_groups_factor(int n_groups);

/// fraction: share of the run's GPU time by cause. account: the evidence for the prices of the kernels.
///
/// - The factors of the framework profile err as their covariance says, each weighed by its share of time; a
///   recomputed forward pass is split between matrix products and attention as those are.
/// - What the factors cannot describe shows in the errors of steps that were left out of their fit, times
///   few_groups_factor(); a part of it is the run's own (kOwnShareOfLeftOutError).
/// - Kernels err as the hardware profile says; kernels of one family err together, whatever they are for. If
///   is_fitted, kernels under a factor do not add to this: the factors were fitted to this model on this
///   hardware profile and make up for their errors. Each family is named by the curve that adds most.
/// - Each doubt about the profile's factors adds its own error.
///
/// Where a profile states no covariance and no left-out error, only kernels and doubts count.
Uncertainty run_uncertainty(const std::array<double, kNCauses>& fraction, const PriceAccount& account,
                            const FrameworkProfile& profile, bool is_fitted,
                            std::span<const ProfileDoubt> doubts = {});

/// Shares of a run's GPU time by cause and by the evidence for its prices: [kNCauses][kNEvidenceLevels]. 0
/// for causes without a price, such as fixed overheads.
std::array<std::array<double, kNEvidenceLevels>, kNCauses> evidence_by_cause(
    const std::array<double, kNCauses>& fraction, const PriceAccount& account);

/// The share of a run's GPU time, without waits and fixed overheads, whose prices rest on each kind of
/// evidence.
std::array<double, kNEvidenceLevels> evidence_fractions(const std::array<double, kNCauses>& fraction,
                                                        const PriceAccount& account);

}  // namespace packsim
