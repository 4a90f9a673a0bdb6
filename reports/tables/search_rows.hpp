#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// What the rows of search_rows() show, for people.
inline constexpr std::string_view kSearchNote =
    "Plans found by search: for each run whose plan was searched, the plan that it has, the second best "
    "one, and the usual one, which has packs as long as the longest sample, on the fewest GPUs on which "
    "they fit, at the scenario's ZeRO stage (a strategy that forms its own groups keeps them). Percentages "
    "say how much longer these take; of a large data set only a part is simulated, so they can differ from "
    "the GPU-days of the runs. \"another job\" loses more tokens or trains iterations of another size. "
    "Plans that do not fit in memory, or that cannot be faster by the work of their packs alone, are not "
    "simulated.";

/// A plan that the search of a run has simulated: "64K at CP 2; TP 4, ZeRO 3".
std::string searched_text(const SearchedPlan& plan, const StrategyResult& run);

/// The runs whose plans were searched, the titles in front; empty if there are none.
std::vector<std::vector<std::string>> search_rows(const Report& report);

}  // namespace packsim::formats_detail
