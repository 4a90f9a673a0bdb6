#include <fmt/format.h>

#include <string>

#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/lengths/csv_record.hpp"
#include "scenarios/loader/lengths/length_formats.hpp"
#include "scenarios/loader/lengths/length_text.hpp"

namespace packsim::length_formats {
namespace {

// Which fields of a record make up a length, and how many fields a record has.
struct Columns {
  std::vector<std::size_t> summed;
  std::size_t n_fields = 1;
  bool headerless = false;
};

std::string joined(const std::vector<std::string_view>& fields) {
  std::string text;
  for (const std::string_view field : fields) text += (text.empty() ? "" : ",") + std::string(field);
  return text;
}

Columns columns_of(const CsvRecord& first, BadRows& bad_rows) {
  Columns columns{.summed = {}, .n_fields = first.fields.size(), .headerless = false};
  if (first.fields.size() == 1 && length_from_text(first.fields[0])) {
    columns.summed = {0};
    columns.headerless = true;
    return columns;
  }
  const auto find = [&](std::string_view name) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < first.fields.size(); ++i) {
      if (first.fields[i] == name) found.push_back(i);
    }
    return found;
  };
  const std::vector<std::size_t> tokens = find("tokens");
  const std::vector<std::size_t> prompt = find("prompt");
  const std::vector<std::size_t> response = find("response");
  if (tokens.size() == 1) {
    columns.summed = tokens;
  } else if (tokens.empty() && prompt.size() == 1 && response.size() == 1) {
    columns.summed = {prompt[0], response[0]};
  } else {
    bad_rows.add(first.line, "one column named tokens, or one named prompt and one named response",
                 quote(joined(first.fields)));
  }
  return columns;
}

// The length that a record stands for.
void add_length(const CsvRecord& record, const Columns& columns, std::vector<std::int32_t>& lengths_tokens,
                BadRows& bad_rows) {
  if (record.fields.size() != columns.n_fields) {
    bad_rows.add(record.line, fmt::format("{} field{}", columns.n_fields, columns.n_fields == 1 ? "" : "s"),
                 fmt::format("{}", record.fields.size()));
    return;
  }
  std::int32_t n_tokens = 0;  // two of the largest lengths fit
  for (const std::size_t column : columns.summed) {
    const auto length = length_from_text(record.fields[column]);
    if (!length) {
      bad_rows.add(record.line, length_range(), quote(record.fields[column]));
      return;
    }
    n_tokens += *length;
  }
  if (!is_length(n_tokens)) {
    bad_rows.add(record.line, "prompt + response an " + length_range(), fmt::format("{}", n_tokens));
    return;
  }
  lengths_tokens.push_back(n_tokens);
}

}  // namespace

std::vector<std::int32_t> csv(std::string_view bytes, BadRows& bad_rows) {
  std::vector<std::int32_t> lengths_tokens;
  CsvReader reader(without_last_line_ends(without_byte_order_mark(bytes)));
  CsvRecord record;
  Columns columns;
  bool is_first = true;
  while (reader.next(record)) {
    if (!record.error.empty()) {
      bad_rows.add(record.line, record.error, record.got);
      if (is_first) break;
      continue;
    }
    if (is_first) columns = columns_of(record, bad_rows);
    // If there are no columns to read, there is nothing to say about the rows.
    if (columns.summed.empty()) break;
    if (!is_first || columns.headerless) add_length(record, columns, lengths_tokens, bad_rows);
    is_first = false;
  }
  return lengths_tokens;
}

}  // namespace packsim::length_formats
