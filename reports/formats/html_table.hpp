#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace packsim::formats_detail {

/// The head of a column of a page's table. tables.js makes it a button that sorts, with its definition as a
/// tooltip.
struct HtmlHead {
  std::string title;  ///< as it is in definitions() or in a Column; not escaped
  std::string_view unit = {};
  std::string_view group = {};   ///< columns of one group are side by side; only if any column has one
  std::string_view swatch = {};  ///< the style of a coloured square; empty: none
  std::string shown = {};        ///< instead of the title; not escaped
};

/// A cell: escaped HTML, and its style.
struct HtmlCell {
  std::string html;
  std::string_view style = {};
};

/// A table of a page. Its first column names the rows.
struct HtmlTable {
  std::string_view name;   ///< for screen readers
  std::string_view style;  ///< a class
  std::vector<HtmlHead> heads;
  struct Row {
    std::vector<HtmlCell> cells;  ///< [n_heads]
    bool is_best = false;
  };
  std::vector<Row> rows;
};

std::string html(const HtmlTable& table);

/// A table of texts, the titles in front and the name of a row first.
HtmlTable table_of_rows(std::string_view name, const std::vector<std::vector<std::string>>& rows);

}  // namespace packsim::formats_detail
