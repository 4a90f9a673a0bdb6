#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// A text that is true of some runs.
struct TextOfRuns {
  std::string text;  ///< escaped
  std::string runs;  ///< their names, escaped: "isf, hbp", or "all runs"
};

/// What text_of() says of the runs, each text once. Empty texts are left out.
std::vector<TextOfRuns> texts_by_run(const Report& report,
                                     const std::function<std::string(const StrategyResult&)>& text_of);

}  // namespace packsim::formats_detail
