#include "reports/files/html_page.hpp"

#include <fmt/format.h>

#include "reports/files/embedded.hpp"
#include "reports/text/escape.hpp"

namespace packsim {

std::string html_page(const HtmlPage& page) {
  using namespace formats_detail;
  // The policy makes the browser hold the page to its promise: nothing is loaded from anywhere. Vega compiles
  // the expressions of a spec into functions, which needs 'unsafe-eval'.
  static constexpr std::string_view kPage = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:">
<title>{title} - packsim</title>
<style>
{page_style}{style}</style>
</head>
<body>
{body}
<script type="application/json" id="{data_id}">{data}</script>
<!-- Vega, Vega-Lite and Vega-Embed: copyright University of Washington Interactive Data Lab, BSD-3-Clause licence. -->
<script type="module">
{vega}
</script>
{scripts}</body>
</html>
)";
  return fmt::format(kPage, fmt::arg("title", html_escaped(page.title)),
                     fmt::arg("page_style", embedded_file("page.css")), fmt::arg("style", page.style),
                     fmt::arg("body", page.body), fmt::arg("data_id", page.data_id),
                     fmt::arg("data", script_escaped(page.data)),
                     fmt::arg("vega", embedded_file("vega_bundle.js")), fmt::arg("scripts", page.scripts));
}

}  // namespace packsim
