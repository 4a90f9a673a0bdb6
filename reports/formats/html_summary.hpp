#pragma once

#include <string>
#include <string_view>

#include "experiment/results/report.hpp"

/// What stands above the tables and charts of the page, and below them.
namespace packsim::formats_detail {

/// <div><dt>term</dt><dd>text</dd></div>
std::string html_item(std::string_view term, std::string_view escaped_text);

std::string html_facts(const Report& report);  ///< of the job: model, cluster, data
std::string html_warnings(const RunManifest& manifest);
/// The answer: the best run, what it costs, why it wins, what to set, and what could change it.
std::string html_verdict(const Report& report);
std::string html_provenance(const Report& report);  ///< where the report comes from, to copy and to run again

}  // namespace packsim::formats_detail
