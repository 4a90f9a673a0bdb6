#include "reports/text/text_table.hpp"

#include <algorithm>

#include "reports/text/display_width.hpp"

namespace packsim::formats_detail {

std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_columns(row[c]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string& line = lines.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - display_columns(row[c]), ' ');
      line += c == 0 ? row[c] + space : "  " + space + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const std::string& line : table_lines(rows)) text += line + "\n";
  return text;
}

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width_columns, std::size_t indent) {
  const std::string margin(indent < width_columns ? indent : 0, ' ');
  std::vector<std::string> lines;
  std::string line;
  const auto next_line = [&] {
    lines.push_back(line);
    line = margin;
  };
  bool is_first_word = true;  // of its line
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    if (!is_first_word && display_columns(line) + 1 + display_columns(word) > width_columns) {
      next_line();
      is_first_word = true;
    }
    if (!is_first_word) line += ' ';
    while (display_columns(line) + display_columns(word) > width_columns && !word.empty()) {
      const std::size_t room = width_columns - std::min(width_columns - 1, display_columns(line));
      const std::string_view start = start_within(word, room);
      line += start;
      word.remove_prefix(start.size());
      if (!word.empty()) next_line();
    }
    line += word;
    is_first_word = false;
    begin = end + 1;
  }
  lines.push_back(line);
  return lines;
}

std::string wrapped(std::string_view text, int width_columns, int indent) {
  std::string joined;
  for (const std::string& line : wrapped_lines(text, static_cast<std::size_t>(std::max(width_columns, 1)),
                                               static_cast<std::size_t>(std::max(indent, 0))))
    joined += line + "\n";
  return joined;
}

}  // namespace packsim::formats_detail
