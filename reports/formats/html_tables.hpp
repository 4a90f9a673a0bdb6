#pragma once

#include <string>

#include "experiment/results/report.hpp"

/// The tables of the page, as HTML.
namespace packsim::formats_detail {

std::string comparison_table(const Report& report);
std::string bound_table(const Report& report);       ///< lower bounds and their parts
std::string loss_table(const Report& report);        ///< what normalisers do to each run
std::string plan_table(const Report& report);        ///< a row per group, with its memory by what holds it
std::string accounting_table(const Report& report);  ///< what became of the data
std::string definition_list(const Report& report);   ///< of the comparison table's columns

}  // namespace packsim::formats_detail
