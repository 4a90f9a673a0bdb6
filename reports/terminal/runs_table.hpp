#pragma once

#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "reports/tables/run_values.hpp"
#include "reports/text/style.hpp"

namespace packsim::formats_detail {

/// The runs in the order in which tables show them: by GPU-days, then those that train another job, then
/// those without times.
std::vector<const StrategyResult*> sorted_runs(const Report& report);

/// The same, but no more than so many: the best and the baseline in any case, and the first of the others.
std::vector<const StrategyResult*> foremost_runs(const Report& report, std::size_t most_runs);

/// A line for each of these runs with these columns, the titles and units in front. The first column has this
/// title and the names, whole or no wider than `name_columns`.
std::vector<std::string> runs_table(const Report& report, const std::vector<const StrategyResult*>& runs,
                                    const std::vector<Column>& columns, const std::string& title,
                                    std::size_t name_columns, const Style& style);

/// Returns those of the columns that say something of a run and fit beside the names into the width, the most
/// important first.
std::vector<Column> fitting_columns(const Report& report, std::vector<Column> columns,
                                    std::size_t width_columns);

/// How wide names may be in a table of this width.
std::size_t widest_name(std::size_t width_columns);

}  // namespace packsim::formats_detail
