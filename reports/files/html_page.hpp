#pragma once

#include <string>
#include <string_view>

namespace packsim {

/// A page that is one file and loads nothing: charts by Vega, data as JSON, and scripts.
struct HtmlPage {
  std::string_view title;    ///< text
  std::string_view style;    ///< CSS behind that of page.css
  std::string_view body;     ///< HTML
  std::string_view data_id;  ///< of the element that holds the data
  std::string_view data;     ///< JSON
  std::string_view scripts;  ///< HTML: script elements
};

std::string html_page(const HtmlPage& page);

}  // namespace packsim
