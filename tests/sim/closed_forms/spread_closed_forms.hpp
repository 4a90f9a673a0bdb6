#pragma once

#include <cstdint>
#include <span>

namespace packsim {

/// The relative spread of a sum of independent times: kernel_spread sqrt(sum t^2) / sum t; 0 of nothing. A
/// sum of log-normals is not one; a factor with this spread has its mean and standard deviation.
/// Source: Fenton, The sum of log-normal probability distributions in scatter transmission systems, IRE
/// Transactions on Communications Systems 8 (1960).
double spread_of_sum(double kernel_spread, std::span<const double> times_s);

/// The mean of the slowest of n independent factors, by quadrature. What a step of n ranks with
/// equal work takes over what it would take without spread.
double expected_slowest(double relative_spread, std::int64_t n);

}  // namespace packsim
