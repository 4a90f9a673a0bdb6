#include "scenarios/loader/lengths/read_column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/lengths/bad_rows.hpp"
#include "scenarios/loader/lengths/csv_record.hpp"
#include "scenarios/loader/lengths/length_text.hpp"

namespace packsim {
namespace {

std::optional<double> score_from_text(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<double> csv_column(std::string_view bytes, const std::string& column, BadRows& bad_rows) {
  std::vector<double> values;
  CsvReader reader(without_last_line_ends(without_byte_order_mark(bytes)));
  CsvRecord record;
  if (!reader.next(record) || !record.error.empty()) return values;  // the lengths are refused, too
  const auto found = std::ranges::find(record.fields, std::string_view(column));
  if (found == record.fields.end()) {
    bad_rows.add(record.line, fmt::format("a column named {}", column), "none in the header");
    return values;
  }
  const auto index = static_cast<std::size_t>(found - record.fields.begin());
  while (reader.next(record)) {
    if (!record.error.empty() || record.fields.size() <= index) continue;
    const std::optional<double> value = score_from_text(record.fields[index]);
    if (!value)
      bad_rows.add(record.line, fmt::format("a finite number for {}", column), quote(record.fields[index]));
    values.push_back(value.value_or(0));
  }
  return values;
}

std::vector<double> jsonl_column(std::string_view bytes, const std::string& column, BadRows& bad_rows) {
  std::vector<double> values;
  std::string_view rest = without_last_line_ends(without_byte_order_mark(bytes));
  for (std::int64_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Problems of_line;  // which are those of the lengths
    const std::optional<Json> object = parse_json(bad_rows.file(), rest.substr(0, end), of_line, line);
    const bool has_number = object && object->is_object() && object->contains(column) &&
                            (*object)[column].is_number() && std::isfinite((*object)[column].get<double>());
    if (object && !has_number)
      bad_rows.add(line, fmt::format("a finite number for {}", column), describe(*object));
    values.push_back(has_number ? (*object)[column].get<double>() : 0);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

}  // namespace

std::vector<double> parse_column(const std::string& path, std::string_view bytes, const std::string& column,
                                 Problems& problems) {
  BadRows bad_rows(path, problems);
  if (path.ends_with(".csv")) return csv_column(bytes, column, bad_rows);
  if (path.ends_with(".jsonl")) return jsonl_column(bytes, column, bad_rows);
  bad_rows.add("whole file", fmt::format("a .csv or .jsonl with the column {}", column), quote(path));
  return {};
}

}  // namespace packsim
