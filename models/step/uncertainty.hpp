#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/framework_profile.hpp"
#include "models/step/price_account.hpp"

namespace packsim {

/// One reason why a run's time may be another, as a standard deviation of its logarithm.
struct Doubt {
  std::string measurement;  ///< that would settle it
  double relative_error = 0;
};

/// How well the time of a run is known.
struct Uncertainty {
  double relative_error = 0;  ///< one standard deviation of the logarithm of the time
  std::vector<Doubt> doubts;  ///< independent of each other, the largest first

  /// Nine runs of ten take from low to high times the estimate.
  double low() const;
  double high() const;
};

/// fraction: of the run's GPU time by cause. account: what the kernels of its causes rest on.
///
/// - The factors of the framework profile err as their covariance says, each weighed by its share of time; a
///   recomputed forward pass is split between matrix products and attention as those are.
/// - What the factors do not tell shows in steps that were left out of their fit.
/// - Kernels err as the hardware profile says, those of one family together, whatever they are for. Those
/// under
///   a factor do not where is_fitted: the factors were fitted to this model on this hardware profile, and
///   hold its level. Of a family, the curve that adds most is named.
///
/// A profile that tells no covariance and no left-out error has unknown doubts: those of kernels alone count.
Uncertainty run_uncertainty(const std::array<double, kNCauses>& fraction, const PriceAccount& account,
                            const FrameworkProfile& profile, bool is_fitted);

/// How much of a run's GPU time, waits and fixed overheads left out, rests on prices of each standing.
std::array<double, kNStandings> standing_fractions(const std::array<double, kNCauses>& fraction,
                                                   const PriceAccount& account);

}  // namespace packsim
