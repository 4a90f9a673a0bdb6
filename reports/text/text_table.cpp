#include "reports/text/text_table.hpp"

#include <algorithm>

namespace packsim::formats_detail {
// Code points: right for the names that people give runs, which are rarely wide or combining.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width_of(row[c]), ' ');
      line += c == 0 ? row[c] + space : "  " + space + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string wrapped(std::string_view text, int width_columns, int indent) {
  std::string lines;
  std::string line;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!line.empty() && width_of(line) + 1 + width_of(word) > static_cast<std::size_t>(width_columns)) {
      lines += line + "\n";
      line = std::string(static_cast<std::size_t>(indent), ' ').append(word);
    } else {
      if (begin > 0) line += ' ';
      line += word;
    }
    begin = end + 1;
  }
  return lines + line + "\n";
}

}  // namespace packsim::formats_detail
