#include "reports/formats/html_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "reports/tables/definitions.hpp"
#include "reports/tables/run_values.hpp"
#include "reports/text/escape.hpp"

namespace packsim::formats_detail {
namespace {

bool starts_group(const std::vector<HtmlHead>& heads, std::size_t column) {
  return !heads[column].group.empty() && heads[column].group != heads[column - 1].group;
}

std::string group_row(const std::vector<HtmlHead>& heads) {
  if (std::ranges::all_of(heads, [](const HtmlHead& head) { return head.group.empty(); })) return "";
  std::string cells = "<td></td>";
  for (std::size_t c = 1; c < heads.size(); ++c) {
    if (!starts_group(heads, c)) continue;
    const auto members = std::ranges::count(heads, heads[c].group, &HtmlHead::group);
    cells += fmt::format("<th scope=\"colgroup\" colspan=\"{}\" class=\"starts-group\">{}</th>", members,
                         heads[c].group);
  }
  return fmt::format("<tr class=\"groups\">{}</tr>\n", cells);
}

bool is_defined(const std::string& title) {
  return find_definition(title) != nullptr || find_column(title) != nullptr;
}

std::string head_row(const std::vector<HtmlHead>& heads) {
  std::string cells;
  for (std::size_t c = 0; c < heads.size(); ++c) {
    const HtmlHead& head = heads[c];
    const std::string swatch =
        head.swatch.empty() ? "" : fmt::format("<span class=\"swatch {}\"></span>", head.swatch);
    const std::string definition =
        is_defined(head.title) ? fmt::format(" data-definition=\"{}\"", definition_id(head.title)) : "";
    const std::string unit =
        head.unit.empty() ? "" : fmt::format("<span class=\"unit\">{}</span>", head.unit);
    cells += fmt::format("<th scope=\"col\"{}{}>{}{}{}</th>",
                         c > 0 && starts_group(heads, c) ? " class=\"starts-group\"" : "", definition, swatch,
                         html_escaped(head.shown.empty() ? head.title : head.shown), unit);
  }
  return fmt::format("<tr>{}</tr>\n", cells);
}

std::string body_row(const HtmlTable& table, const HtmlTable::Row& row) {
  std::string cells;
  for (std::size_t c = 0; c < row.cells.size(); ++c) {
    const HtmlCell& cell = row.cells[c];
    if (c == 0) {
      cells += fmt::format("<th scope=\"row\">{}</th>", cell.html);
      continue;
    }
    std::string style(cell.style);
    if (starts_group(table.heads, c)) style += style.empty() ? "starts-group" : " starts-group";
    cells += style.empty() ? fmt::format("<td>{}</td>", cell.html)
                           : fmt::format("<td class=\"{}\">{}</td>", style, cell.html);
  }
  return fmt::format("<tr{}>{}</tr>\n", row.is_best ? " class=\"best\"" : "", cells);
}

}  // namespace

std::string html(const HtmlTable& table) {
  std::string rows;
  for (const HtmlTable::Row& row : table.rows) rows += body_row(table, row);
  return fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\"><table class=\"{1}\">\n"
      "<thead>{2}{3}</thead>\n<tbody>\n{4}</tbody></table></div>\n",
      html_escaped(table.name), table.style, group_row(table.heads), head_row(table.heads), rows);
}

HtmlTable table_of_rows(std::string_view name, const std::vector<std::vector<std::string>>& rows) {
  HtmlTable table{.name = name, .style = "texts", .heads = {}, .rows = {}};
  for (const std::string& title : rows.front()) table.heads.push_back({.title = title});
  for (std::size_t r = 1; r < rows.size(); ++r) {
    HtmlTable::Row& row = table.rows.emplace_back();
    for (const std::string& text : rows[r]) row.cells.push_back({html_escaped(text)});
  }
  return table;
}

}  // namespace packsim::formats_detail
