#pragma once

#include <cstdint>
#include <span>

#include "experiment/results/report.hpp"

namespace packsim {

/// Describes a data set's lengths; `sources` is left empty.
///
/// lengths_tokens: [n_samples], each >= 0; may be empty. Percentiles are nearest-rank, so each is the length
/// of some sample. Bins double, (1, 2], (2, 4], (4, 8] ..., so that their bounds are the usual pack
/// capacities; they run from the shortest sample's to the longest's without gaps. Samples of zero tokens are
/// in the bin (-1, 0].
LengthSummary summarize_lengths(std::span<const std::int32_t> lengths_tokens);

}  // namespace packsim
