#include "reports/formats/csv_format.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <type_traits>
#include <variant>

#include "reports/formats/run_fields.hpp"

namespace packsim {
namespace {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char character : text) {
    if (character == '"') cell += '"';
    cell += character;
  }
  return cell + '"';
}

template <typename Value>
std::string cell(const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return csv_field(value);
  } else if constexpr (std::is_same_v<Value, double>) {
    return std::isfinite(value) ? fmt::format("{}", value) : "";
  } else {
    return fmt::format("{}", value);
  }
}

std::string group_summary(const StrategyResult& run) {
  std::string summary;
  for (const GroupResult& group : run.groups) {
    if (!summary.empty()) summary += ';';
    summary += fmt::format("{}:{}:{}", group.capacity_tokens, group.sequence.ulysses, group.gc_layers);
  }
  return summary;
}

}  // namespace

std::string to_csv(const Report& report) {
  std::string csv;
  for (const formats_detail::RunField& field : formats_detail::run_fields()) {
    csv += fmt::format("{},", field.key);
  }
  csv += "groups\r\n";
  for (const StrategyResult& run : report.runs) {
    for (const formats_detail::RunField& field : formats_detail::run_fields()) {
      csv += std::visit([&](const auto member) { return cell(run.*member); }, field.member) + ',';
    }
    csv += group_summary(run) + "\r\n";
  }
  return csv;
}

}  // namespace packsim
