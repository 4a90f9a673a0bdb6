#include "reports/formats/formats.hpp"

#include <catch2/catch.hpp>

#include "example_report.hpp"
#include "reports/text/escape.hpp"
#include "reports/verdict/verdict.hpp"

using namespace packsim;
using Catch::Matchers::Contains;

TEST_CASE("a notebook shows the verdict and then the runs, the best one first") {
  const Report report = example_report();
  const std::string html = to_notebook_html(report);
  CHECK_THAT(html, Contains("Best plan: " + formats_detail::html_escaped(verdict(report).headline)));
  CHECK_THAT(html, Contains(">GPU-days<"));
  const std::size_t table = html.find("<tbody>");
  REQUIRE(table != std::string::npos);
  CHECK(html.find(">hbp", table) < html.find(">isf", table));
  CHECK(html.size() < 10'000);
}

TEST_CASE("what to know before believing the numbers is folded under the table") {
  Report report = example_report();
  CHECK_THAT(to_notebook_html(report), !Contains("<details>"));
  report.manifest.warnings = {"one <b> thing"};
  CHECK_THAT(to_notebook_html(report), Contains("<details>") && Contains("one &lt;b&gt; thing"));
}

TEST_CASE("names from files are text in a notebook") {
  Report report = example_report();
  report.runs[1].name = "<script>alert(1)</script>";
  CHECK_THAT(to_notebook_html(report), !Contains("<script>"));
}
