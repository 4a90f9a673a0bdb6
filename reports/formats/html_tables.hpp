#pragma once

#include <string>

#include "experiment/results/report.hpp"
#include "reports/tables/run_values.hpp"

/// The tables of the page, as HTML.
namespace packsim::formats_detail {

std::string run_table(const Report& report, RunTable which);
std::string bound_table(const Report& report);       ///< lower bounds and their parts
std::string search_table(const Report& report);      ///< how searched plans were found
std::string loss_table(const Report& report);        ///< what normalisers do to each run
std::string plan_table(const Report& report);        ///< a row per group, with its memory by what holds it
std::string accounting_table(const Report& report);  ///< what became of the data
std::string definition_list(const Report& report);   ///< of the columns of both tables of runs

}  // namespace packsim::formats_detail
