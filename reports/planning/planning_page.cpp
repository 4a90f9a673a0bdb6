#include "reports/planning/planning_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reports/files/embedded.hpp"
#include "reports/files/html_page.hpp"
#include "reports/planning/planning_front.hpp"
#include "reports/planning/planning_json.hpp"
#include "reports/planning/planning_verdict.hpp"
#include "reports/text/escape.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

// One script: each file is about one thing, and uses what those before it define.
std::string planning_scripts() {
  std::string text;
  for (const std::string_view name : {"planning_points.js", "planning_filters.js", "planning_tip.js",
                                      "planning_charts.js", "planning_front.js", "planning_heat.js",
                                      "planning_table.js", "planning_compare.js", "planning_main.js"})
    text += fmt::format("{}\n", embedded_file(name));
  return text;
}

std::string amount_card(std::string_view title, const PlanningPoint& point,
                        const std::optional<PlanningAmount>& amount, const char* unit) {
  std::string interval;
  if (amount->low && amount->high)
    interval = fmt::format("<span>90%: {} to {}</span>", quantity(*amount->low), quantity(*amount->high));
  return fmt::format("<div class=\"card\"><span class=\"term\">{}</span><b>{}{}</b>{}<span>{}</span></div>\n",
                     title, quantity(amount->value), unit, interval,
                     html_escaped(fmt::format("point {}, {}", point.number, point.strategy)));
}

// The amounts of the cheapest and of the fastest point.
std::string verdict_cards(const PlanningData& data) {
  const auto cheapest = cheapest_point(data);
  const auto fastest = fastest_point(data);
  if (!cheapest) return "";
  const PlanningPoint& cheap = data.points[*cheapest];
  const PlanningPoint& fast = data.points[*fastest];
  std::string text;
  if (cost_of(data) == CostKind::money)
    text += amount_card("Least money", cheap, cheap.money, "");
  else
    text += amount_card("Fewest GPU-days", cheap, cheap.gpu_days, "");
  text += amount_card("in hours", cheap, cheap.hours, " h");
  if (cheapest == fastest) return fmt::format("<div class=\"cards\">\n{}</div>\n", text);
  text += amount_card("Fewest hours", fast, fast.hours, " h");
  if (cost_of(data) == CostKind::money)
    text += amount_card("for money", fast, fast.money, "");
  else
    text += amount_card("in GPU-days", fast, fast.gpu_days, "");
  return fmt::format("<div class=\"cards\">\n{}</div>\n", text);
}

std::string verdict_html(const PlanningData& data) {
  const PlanningVerdict verdict = planning_verdict(data);
  std::string text = fmt::format("<p class=\"conclusion\" id=\"verdict\">{}</p>\n{}",
                                 html_escaped(verdict.best), verdict_cards(data));
  text += fmt::format("<p id=\"counts\">{}{}</p>\n", html_escaped(verdict.counts),
                      verdict.reasons.empty() ? "" : " The most frequent reasons:");
  std::string items;
  for (const std::string& reason : verdict.reasons)
    items += fmt::format("<li>{}</li>\n", html_escaped(reason));
  if (!items.empty()) text += fmt::format("<ul class=\"doubts\">\n{}</ul>\n", items);
  if (!data.question.empty()) text += fmt::format("<p>{}</p>\n", html_escaped(data.question));
  return text;
}

// What stays empty here is filled by the scripts.
constexpr std::string_view kSections = R"(
<noscript><p class="warnings">The filters, charts and tables below need JavaScript.</p></noscript>
<p class="note paper-note">Printed are the points that the filters of the page leave, and of their table one part. All points are in the page, planning.html, and in the files that it was made from.</p>
<div class="planning">
<div class="scroll side" tabindex="0" role="region" aria-label="Filters"><details id="filters" open><summary>Filters: <output id="shown"></output></summary>
<form></form></details></div>
<div class="views">
<section id="front"><h2>Time against {cost}</h2>
<p class="note">Every point that the filters leave; the line joins those that no other point beats in both. Round points are on that line; crosses are their 90% intervals. Hollow points, marked ! in the table, train another job and are not compared. Hover shows all values of a point; a click takes it for the comparison.</p>
<p id="shown_best" aria-live="polite"></p>
<div class="choices"><label>Colour <select id="colour"></select></label></div>
<ul class="legend" id="front_legend"></ul>
<figure data-chart="front"><div class="stage"><canvas aria-hidden="true"></canvas><div class="plot"></div></div></figure></section>
<section id="compare"><h2>Two points side by side</h2>
<p class="note">At first the cheapest and the fastest point that the filters leave. Others are chosen in the chart above or in the table below.</p><div class="body"></div></section>
<section id="scaling"><h2>Scaling</h2>
<p class="note">For each number of GPUs, the fastest compared point of each {series}. Efficiency: the GPU-days of the smallest cluster of a line over those of this one.</p>
<ul class="legend" id="scaling_legend"></ul><div class="pair">
<figure data-chart="scaling_hours"><figcaption>hours against GPUs</figcaption><div class="plot"></div></figure>
<figure data-chart="scaling_efficiency"><figcaption>efficiency against GPUs</figcaption><div class="plot"></div></figure></div></section>
<section id="heat"><h2>Map of two settings</h2>
<p class="note">The best compared point of each cell; darker is better. A cell with a dash has points, but none that can be compared.</p>
<div class="choices"><label>across <select id="heat_x"></select></label> <label>down <select id="heat_y"></select></label>
<label>colour <select id="heat_measure"></select></label></div>
<p class="scale" id="heat_scale"></p>
<figure data-chart="heat"><div class="plot"></div></figure></section>
<section id="tornado"><h2>What the answer depends on</h2>{tornado}</section>
<section id="points_section"><h2>Points</h2><div class="body"></div></section>
<section id="reasons"><h2>Points that cannot be compared</h2><div class="body"></div></section>
</div></div>
)";

constexpr std::string_view kTornado = R"(
<p class="note">How {cost} would change for the recommended run if one thing were otherwise; each case is planned anew.</p>
<figure data-chart="tornado"><div class="plot"></div></figure><ul class="doubts" id="tornado_reasons"></ul>)";

constexpr std::string_view kNoTornado =
    "\n<p class=\"note\">Only a recommendation says it: <code>packsim recommend --out FOLDER</code> writes "
    "one, and "
    "<code>packsim page --recommendation FOLDER/recommendation.json</code> shows it here.</p>";

constexpr std::string_view kNothingChanges = "\n<p class=\"note\">None of what was varied changes it.</p>";

// What has no run is said below the chart.
bool changes_anything(const PlanningChange& change) {
  return change.less.ratio != 1.0 || change.more.ratio != 1.0;
}

constexpr std::string_view kBody = R"(<header>
<p class="kicker">packsim: which cluster</p><h1>{title}</h1><p>{source}</p>
</header>
<main>
{verdict}{sections}</main>)";

}  // namespace

std::string planning_page(const PlanningData& exact) {
  const PlanningData data = rounded(exact);
  const std::string cost = cost_of(data) == CostKind::money ? "money" : "GPU-days";
  std::string tornado(data.changes.empty() ? kNoTornado : kNothingChanges);
  if (std::ranges::any_of(data.changes, changes_anything))
    tornado = fmt::format(kTornado, fmt::arg("cost", cost));
  const std::string sections = fmt::format(kSections, fmt::arg("cost", cost), fmt::arg("tornado", tornado),
                                           fmt::arg("series", "strategy and type of cluster"));
  const std::string body = fmt::format(
      kBody, fmt::arg("title", html_escaped(data.title)), fmt::arg("source", html_escaped(data.source)),
      fmt::arg("verdict", verdict_html(data)), fmt::arg("sections", sections));
  const std::string scripts = "<script type=\"module\">\n" + planning_scripts() + "</script>\n";
  return html_page({.title = data.title,
                    .style = embedded_file("planning.css"),
                    .body = body,
                    .data_id = "planning",
                    .data = planning_json(data),
                    .scripts = scripts});
}

}  // namespace packsim
