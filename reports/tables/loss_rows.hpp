#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// A row of titles, and for each run a row that says what normalisers do to its loss. Empty if no run has any
/// normaliser; normalisers that are no mean have no column.
std::vector<std::vector<std::string>> loss_rows(const Report& report);

inline constexpr std::string_view kLossNote =
    "Loss weights: how far each way to normalise the loss departs from the mean over all tokens of an "
    "iteration. The percentage is the share of the loss's weight that lies on other tokens than in that "
    "mean; \"long\" is the weight of a token of the longest samples (those with half of all tokens), where "
    "1 is its weight in that mean. The normaliser \"stable\" is that mean, so it would have 0% and 1 for "
    "every run.";

}  // namespace packsim::formats_detail
