#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// What normalisers do to the loss of each run, a row each, with the titles in front. Empty where no run has
/// any; normalisers that are no mean have no column.
std::vector<std::vector<std::string>> loss_rows(const Report& report);

inline constexpr std::string_view kLossNote =
    "What a loss normaliser makes of each run's packs: the share of the loss's weight that lies on other "
    "tokens than in the mean over all tokens of an iteration and, behind it, what a token of the longest "
    "samples "
    "(those with half of all tokens) weighs, 1 being as much as any other. The normaliser \"stable\" is that "
    "mean: 0 and 1 for every run.";

}  // namespace packsim::formats_detail
