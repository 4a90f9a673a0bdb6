#include "reports/formats/formats.hpp"

#include <fmt/format.h>

#include <variant>

#include "reports/tables/typed_columns.hpp"
#include "reports/text/escape.hpp"

namespace packsim {
namespace {

std::string cell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return formats_detail::csv_field(*text);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* count = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *count);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return "";
}

}  // namespace

std::string to_csv(const Report& report) {
  const std::vector<TypedColumn> columns = typed_columns(report);
  std::string csv;
  for (const TypedColumn& column : columns) csv += (csv.empty() ? "" : ",") + column.key;
  csv += "\r\n";
  for (std::size_t run = 0; run < report.runs.size(); ++run) {
    std::string line;
    for (const TypedColumn& column : columns) line += cell(column.values[run]) + ',';
    line.back() = '\r';
    csv += line + '\n';
  }
  return csv;
}

}  // namespace packsim
