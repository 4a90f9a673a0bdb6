#include "reports/formats/csv_format.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <variant>

#include "reports/tables/run_values.hpp"
#include "reports/text/escape.hpp"

namespace packsim {
namespace {

std::string cell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return formats_detail::csv_field(*text);
  if (const auto* number = std::get_if<double>(&value))
    return std::isfinite(*number) ? fmt::format("{}", *number) : "";
  if (const auto* count = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *count);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return "";
}

std::string group_summary(const StrategyResult& run) {
  std::string summary;
  for (const PlannedGroup& group : run.groups) {
    if (!summary.empty()) summary += ';';
    summary += fmt::format("{}:{}:{}", group.capacity_tokens, group.sequence.ulysses, group.gc_layers);
  }
  return summary;
}

}  // namespace

std::string to_csv(const Report& report) {
  std::string csv;
  for (const RunValue& value : run_values()) {
    if (!value.key.empty()) csv += value.key + ',';
  }
  csv += "groups\r\n";
  for (const StrategyResult& run : report.runs) {
    for (const RunValue& value : run_values()) {
      if (!value.key.empty()) csv += cell(value.value(run)) + ',';
    }
    csv += group_summary(run) + "\r\n";
  }
  return csv;
}

}  // namespace packsim
