#pragma once

#include <cstddef>
#include <string>

#include "experiment/results/report.hpp"
#include "reports/tables/run_values.hpp"

/// The tables of the page, as HTML.
namespace packsim::formats_detail {

std::string run_table(const Report& report, RunTable which);
/// The comparison with the columns and the order of runs of a terminal of this width.
std::string short_run_table(const Report& report, std::size_t width_columns);
std::string plan_table(const Report& report);        ///< a row per group, with its memory by what holds it
std::string accounting_table(const Report& report);  ///< what became of the data
std::string slowest_table(const Report& report);  ///< the slowest steps of each run; empty if there are none
std::string definition_list(const Report& report);  ///< of the columns of all tables

}  // namespace packsim::formats_detail
