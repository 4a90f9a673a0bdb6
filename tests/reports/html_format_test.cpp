#include "reports/formats/formats.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "example_report.hpp"
#include "reports/files/embedded.hpp"
#include "reports/text/escape.hpp"

using namespace packsim;

namespace {

constexpr std::string_view kHostile = "</script><b>&\"'";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

nlohmann::json chart_json(const std::string& html) {
  const std::string_view start = "<script type=\"application/json\" id=\"charts\">";
  const std::size_t begin = html.find(start) + start.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

}  // namespace

TEST_CASE("text from outside cannot become markup or end a script") {
  Report report = example_report();
  const std::string hostile(kHostile);
  report.runs[0] = example_misfit(hostile);
  report.runs[0].strategy = hostile;
  report.baseline = hostile;
  RunManifest& manifest = report.manifest;
  for (std::string* text :
       {&manifest.version, &manifest.command, &manifest.scenario, &manifest.scenario_name,
        &manifest.scenario_description, &manifest.scenario_hash, &manifest.profile, &manifest.profile_hash,
        &manifest.profile_source, &manifest.model, &manifest.cluster}) {
    *text = hostile;
  }
  manifest.warnings = {hostile};
  report.lengths.sources = {{.name = hostile, .hash = hostile}};
  const std::string html = to_html(report);

  // The page has one JSON script and six modules, and no other text that ends a script.
  CHECK(count(html, "</script>") == 7);
  CHECK_FALSE(contains(html, "<b>&\"'"));
  CHECK(contains(html, "&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;"));
  const nlohmann::json runs = chart_json(html)["datasets"]["runs"];
  CHECK(std::ranges::any_of(runs, [&](const nlohmann::json& run) { return run["run"] == hostile; }));
}

TEST_CASE("the page shows variability and failures where the scenario has them") {
  const auto page = [](const Report& report) {
    const std::string html = to_html(report);
    return html.substr(0, html.find("<script type=\"module\">"));
  };
  const std::string without = page(example_report());
  for (const char* word : {"Variability", "ailures"}) CHECK_FALSE(contains(without, word));
  const std::string with = page(failing_report());
  CHECK(contains(with, "<th scope=\"colgroup\" colspan=\"1\" class=\"starts-group\">Variability</th>"));
  CHECK(contains(with, "<th scope=\"colgroup\" colspan=\"5\" class=\"starts-group\">Failures</th>"));
  CHECK(contains(with, "a unit of 8 GPUs fails every 50,000 h"));
  CHECK(contains(with, ">4.25 to 5.25</td>"));
}

TEST_CASE("notes on runs that have a result are not set like problems") {
  Report report = example_report();
  report.runs[0].repacking = Repacking{.later_packs = 5000, .new_packs = 4980};
  report.runs[1].differences = {"cuts 9 samples into pieces, isf cuts 0"};
  const std::string html = to_html(report);
  CHECK(contains(html, "<li><b>isf</b> is packed anew in each epoch: 4,980 of 5,000 packs"));
  CHECK(contains(html, "<li class=\"oom\"><b>hbp</b> is not compared with the others"));
}

TEST_CASE("of many notes on runs the first eight are in the open") {
  Report report = example_report();
  for (int i = 1; i <= 10; ++i) report.runs.push_back(example_misfit("large " + std::to_string(i)));
  const std::string html = to_html(report);
  const std::size_t folded = html.find("<details><summary>2 more notes</summary>");
  REQUIRE(folded != std::string::npos);
  CHECK(html.find("<li class=\"oom\"><b>large 8</b>") < folded);
  CHECK(html.find("<li class=\"oom\"><b>large 9</b>") > folded);
  CHECK(contains(html, "<li class=\"oom\"><b>large 10</b>"));
}

TEST_CASE("the page loads nothing from a network") {
  const std::string html = to_html(example_report());
  CHECK(contains(html, "default-src 'none'"));
  for (const char* loads : {"<link", "<img", "<iframe", " src=", "@import", "url("}) {
    // The Vega code builds such elements for exports, so only the page before it can be searched.
    CHECK_FALSE(contains(html.substr(0, html.find("<script type=\"module\">")), loads));
  }
}

TEST_CASE("the page holds the JavaScript once and its own part stays small") {
  const std::string html = to_html(example_report());
  const std::string_view bundle = embedded_file("vega_bundle.js");
  CHECK(count(html, bundle.substr(0, 200)) == 1);
  CHECK(html.size() - bundle.size() < 80'000);
}

TEST_CASE("figures without data are left out instead of drawn empty") {
  CHECK(contains(to_html(example_report()), "data-chart=\"gpu_days\""));
  Report report = example_report();
  report.lengths = {};
  report.runs = {example_misfit("isf")};
  const std::string html = to_html(report);
  for (const char* chart : {"gpu_days", "time_parts", "lengths", "step_times"}) {
    CHECK_FALSE(contains(html, "data-chart=\"" + std::string(chart)));
  }
  CHECK(contains(html, "does not fit in memory: group 128K needs 89.4 of 74.5 GiB"));
  CHECK_FALSE(contains(html.substr(0, html.find("<script type=\"module\">")), ">nan<"));
}

TEST_CASE("a report without runs is a page") {
  CHECK(contains(to_html(Report{}), "Nothing was compared."));
}

TEST_CASE("every head of a table has a definition, and each definition has a place of its own") {
  Report report = priced_report();
  report.bounds = {example_bound()};
  report.runs[0].loss_bias = {{.normaliser = "token_mean", .misplaced_fraction = 0.25}};
  const std::string html = to_html(report);
  const std::string page = html.substr(0, html.find("<script type=\"module\">"));
  std::size_t n_heads = 0;
  const std::string head = "<th scope=\"col\"";
  for (std::size_t at = page.find(head); at != std::string::npos; at = page.find(head, at + 1)) {
    const std::string tag = page.substr(at, page.find('>', at) - at);
    INFO(page.substr(at, 120));
    const std::string attribute = "data-definition=\"";
    REQUIRE(contains(tag, attribute));
    const std::size_t begin = tag.find(attribute) + attribute.size();
    const std::string id = tag.substr(begin, tag.find('"', begin) - begin);
    CHECK(count(page, "id=\"" + id + "\"") == 1);
    ++n_heads;
  }
  CHECK(n_heads > 60);
}

TEST_CASE("the page holds the scenario as text, and of a long one what there is room for") {
  Report report = example_report();
  report.manifest.scenario_text = "{\"name\": \"<b>\"}";
  CHECK(contains(to_html(report), "{&quot;name&quot;: &quot;&lt;b&gt;&quot;}</pre>"));
  report.manifest.scenario_text = std::string(64 * 1024 + 5, 'x');
  CHECK(contains(to_html(report), "... and 5 bytes more, which are in the file"));
}

TEST_CASE("the slowest steps say how much longer they take than the median step, and what they train") {
  const std::string html = to_html(priced_report());
  // 2 s of 1, 1.5 and 2 s.
  CHECK(contains(
      html,
      "<td>7</td><td>2.00 s (1.33x the median)</td><td>0.250</td><td>1,000</td><td>900</td><td>mixed</td>"));
}

TEST_CASE("the page names one ZeRO stage, that of the best run, whatever the scenario says") {
  Report report = example_report();
  report.manifest.plan.zero_stage = 1;  // hbp, the best run, was searched and has another
  report.runs[1].plan.zero_stage = 3;
  report.runs[1].groups[0].zero_stage = 3;
  const std::string html = to_html(report);
  const std::string first_screen = html.substr(0, html.find("<h2>GPU-days</h2>"));
  CHECK(contains(first_screen, "ZeRO 3"));
  CHECK_FALSE(contains(first_screen, "ZeRO 1"));

  report.runs = {example_misfit("isf")};  // nothing to set: the plan that was asked for
  CHECK(contains(to_html(report), "<dt>Parallel plan</dt><dd>no model parallelism; ZeRO 1;"));
}

TEST_CASE("what decides is in the open, and the rest is folded, each part once and none empty") {
  const std::string html = to_html(priced_report());
  const std::string page = html.substr(0, html.find("<script type=\"application/json\""));
  const std::size_t folded = page.find("<details class=\"fold\">");
  REQUIRE(folded != std::string::npos);
  for (const char* open : {"data-chart=\"gpu_days\"", "data-chart=\"waterfall\"", "<h2>Comparison</h2>",
                           "data-chart=\"evidence\""})
    CHECK(page.find(open) < folded);
  for (const char* in_fold : {"data-chart=\"abr\"", "data-chart=\"cost\"", "Plans and memory of each group"})
    CHECK((page.find(in_fold) > folded && page.find(in_fold) != std::string::npos));
  CHECK(page.find("<h2>Where this comes from</h2>") > page.rfind("<details class=\"fold\">"));
  CHECK(count(page, "<details class=\"fold\">") == 6);  // no bound and no search in this report
  CHECK_FALSE(contains(page, "</summary>\n</details>"));
}
