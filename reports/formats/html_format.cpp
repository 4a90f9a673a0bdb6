#include "reports/formats/html_format.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <vector>

#include "reports/charts/chart_data.hpp"
#include "reports/charts/charts.hpp"
#include "reports/files/embedded.hpp"
#include "reports/formats/html_tables.hpp"
#include "reports/tables/bound_rows.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/loss_rows.hpp"
#include "reports/tables/run_notes.hpp"
#include "reports/tables/run_values.hpp"
#include "reports/tables/search_rows.hpp"
#include "reports/text/escape.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/plan_text.hpp"
#include "reports/text/reliability_text.hpp"
#include "reports/verdict/verdict.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

std::string item(std::string_view term, std::string_view escaped_text) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", term, escaped_text);
}

std::string facts(const Report& report) {
  const RunManifest& manifest = report.manifest;
  const LengthSummary& lengths = report.lengths;
  std::string items;
  items += item("Model", html_escaped(manifest.model));
  items += item("Cluster", html_escaped(cluster_text(manifest)));
  items += item("Data set", fmt::format("{} samples, {} tokens", grouped(lengths.n_samples),
                                        token_count(lengths.n_tokens)));
  items += item("Sample length, tokens",
                fmt::format("median {}, mean {}, p99 {}, longest {}", grouped(lengths.median_tokens),
                            quantity(lengths.mean_tokens), grouped(lengths.p99_tokens),
                            grouped(lengths.longest_tokens)));
  items +=
      item("Training", fmt::format("{} tokens per iteration, {} {}", grouped(manifest.tokens_per_iteration),
                                   manifest.epochs, manifest.epochs == 1 ? "epoch" : "epochs"));
  items += item("Parallel plan", plan_text(manifest.plan));
  items += item("Cost profile", html_escaped(manifest.profile));
  if (manifest.variability.any()) items += item("Variability", variability_text(manifest.variability));
  if (manifest.failures) items += item("Failures", failures_text(*manifest.failures));
  return fmt::format("<dl class=\"facts\">\n{}</dl>\n", items);
}

std::string warnings(const RunManifest& manifest) {
  if (manifest.warnings.empty()) return "";
  std::string items;
  for (const std::string& warning : manifest.warnings) {
    items += fmt::format("<li>{}</li>\n", html_escaped(warning));
  }
  return fmt::format("<div class=\"warnings\"><b>Before you believe the numbers</b><ul>\n{}</ul></div>\n",
                     items);
}

std::string card(std::string_view title, std::string_view value, std::string_view note) {
  return fmt::format("<div class=\"card\"><span>{}</span><b>{}</b><span>{}</span></div>\n", title, value,
                     note);
}

// The winner's key numbers, each beside the baseline's.
std::string cards(const Report& report) {
  const StrategyResult* winner = fastest_run(report);
  if (winner == nullptr) return "";
  const StrategyResult* baseline = baseline_run(report);
  const bool compares = baseline != nullptr && baseline != winner;
  const auto beside = [&](const std::string& value) { return compares ? "baseline " + value : ""; };
  const bool baseline_has_time = baseline != nullptr && has_time(*baseline);
  const StrategyResult& other = compares ? *baseline : *winner;

  std::string text;
  if (compares && baseline_has_time && baseline->differences.empty()) {
    text += card("Speed-up over the baseline", fmt::format("{:.2f}x", winner->speedup.value()),
                 html_escaped(fmt::format("{} over {}", winner->name, baseline->name)));
  } else {
    text += card("Fastest run", html_escaped(winner->name), "");
  }
  // Of the times: the winner's, and the baseline's where it has some.
  const auto timed_card = [&](std::string_view title, const auto& text_of) {
    text += card(title, text_of(*winner->times), baseline_has_time ? beside(text_of(*other.times)) : "");
  };
  timed_card("GPU-days", [](const RunTimes& times) { return quantity(times.gpu_days); });
  timed_card("Wall time", [](const RunTimes& times) { return quantity(times.wall_hours) + " h"; });
  timed_card("GPU time idle", [](const RunTimes& times) { return percent(times.shares.idle); });
  const auto abr_text = [](const StrategyResult& run) { return run.balance ? ratio(run.balance->abr) : "-"; };
  text += card("ABR", abr_text(*winner), beside(abr_text(other)));
  const auto untrained = [](const StrategyResult& run) {
    return token_count(run.counts.dropped_tokens + run.counts.truncated_tokens);
  };
  text += card("Tokens dropped or cut off", untrained(*winner), beside(untrained(other)));
  return fmt::format("<div class=\"cards\">\n{}</div>\n", text);
}

std::string run_notes_html(const Report& report) {
  std::string items;
  for (const RunNote& note : run_notes(report)) {
    items += fmt::format("<li{}><b>{}</b> {}.</li>\n", note.is_problem ? " class=\"oom\"" : "",
                         html_escaped(note.run), html_escaped(note.text));
  }
  return items.empty() ? "" : fmt::format("<ul>\n{}</ul>\n", items);
}

std::string figure(const Chart& chart) {
  return fmt::format(
      "<section><h2>{}</h2>\n<figure data-chart=\"{}\"><figcaption>{}</figcaption>\n"
      "<div class=\"plot\"><noscript>This chart needs JavaScript.</noscript></div></figure></section>\n",
      html_escaped(chart.title), chart.name, html_escaped(chart.caption));
}

std::string provenance(const Report& report) {
  const RunManifest& manifest = report.manifest;
  const auto with_hash = [](std::string_view name, std::string_view hash) {
    return fmt::format("{} <code>{}</code>", html_escaped(name), html_escaped(hash));
  };
  std::string items = item("packsim", html_escaped(manifest.version));
  items += item("Command", fmt::format("<code>{}</code>", html_escaped(manifest.command)));
  items += item("Scenario", with_hash(manifest.scenario, manifest.scenario_hash));
  items += item("Profile", with_hash(manifest.profile, manifest.profile_hash));
  items += item("Profile source", html_escaped(manifest.profile_source));
  items += item("Hardware profile", with_hash(manifest.hardware, manifest.hardware_hash));
  items += item("Level of detail", html_escaped(manifest.level));
  items += item("Seed", fmt::format("{}", manifest.seed));
  for (const LengthSummary::Source& source : report.lengths.sources) {
    items += item("Lengths", fmt::format("{}<br>{} samples, {} tokens, {} samples drawn more than once",
                                         with_hash(source.name, source.hash), grouped(source.n_samples),
                                         grouped(source.n_tokens), grouped(source.repeated_samples)));
  }
  items += item("Charts", embedded_file("vega_versions.txt"));
  return fmt::format("<dl class=\"details\">\n{}</dl>\n", items);
}

// The specs, their theme and their data, for page.js.
std::string chart_json(std::span<const Chart> charts, const ChartData& data) {
  std::string specs;
  for (const Chart& chart : charts)
    specs += fmt::format("{}\"{}\":{}", specs.empty() ? "" : ",", chart.name, chart.spec);
  return fmt::format("{{\"theme\":{},\"specs\":{{{}}},\"datasets\":{}}}", embedded_file("theme.json"), specs,
                     data.json);
}

// "Best plan: hbp, 1.25 times as fast as ..."; each sentence of the verdict that there is.
std::string verdict_html(const Verdict& verdict) {
  std::string text = fmt::format("<p class=\"conclusion\">{}{}</p>\n",
                                 verdict.best.empty() ? "" : "Best plan: ", html_escaped(verdict.headline));
  for (const std::string& sentence : {verdict.cost, verdict.why}) {
    if (!sentence.empty()) text += fmt::format("<p>{}</p>\n", html_escaped(sentence));
  }
  return text;
}

std::string body(const Report& report, std::span<const Chart> charts) {
  std::string text = fmt::format(
      "<p class=\"kicker\">packsim: packing strategies compared</p>\n<h1>{}</h1>\n<p>{}</p>\n",
      html_escaped(report.manifest.scenario_name), html_escaped(report.manifest.scenario_description));
  text += facts(report) + warnings(report.manifest);
  text += verdict_html(verdict(report));
  text += cards(report);
  text +=
      "<h2>Comparison</h2>\n<p class=\"note\">Ratios are fractions from 0 to 1, and 0 is best; 0 stands for "
      "exactly none. k, M and B are powers of 1000, K is 1024. Column heads explain themselves on hover, and "
      "below. The fastest run is bold.</p>\n";
  text += run_table(report, RunTable::comparison) + run_notes_html(report);
  if (!columns(report, RunTable::use_and_cost).empty())
    text += "<h2>Use of the GPUs, and cost</h2>\n" + run_table(report, RunTable::use_and_cost);
  for (const Chart& chart : charts) text += figure(chart);
  if (!report.bounds.empty()) {
    text += fmt::format("<h2>Lower bound</h2>\n<p class=\"note\">{}</p>\n", kBoundNote) + bound_table(report);
  }
  text +=
      "<h2>Plans and memory of each group</h2>\n<p class=\"note\">Peak memory of one GPU at the largest "
      "micro-batch; the upright mark is the memory that the GPU has. SP: GPUs that share a sequence. GC: "
      "layers that are recomputed in the backward pass. Micro-batches: per DP rank and iteration.</p>\n";
  text += plan_table(report);
  text +=
      "<h2>What became of the data</h2>\n<p class=\"note\">Tokens count all epochs, samples one. Shares are "
      "of the data set's tokens over all epochs.</p>\n";
  text += accounting_table(report);
  if (!search_rows(report).empty())
    text +=
        fmt::format("<h2>Plans found by search</h2>\n<p class=\"note\">{}</p>\n", html_escaped(kSearchNote)) +
        search_table(report);
  if (!loss_rows(report).empty())
    text += fmt::format("<h2>Loss weights</h2>\n<p class=\"note\">{}</p>\n", html_escaped(kLossNote)) +
            loss_table(report);
  text += "<h2>Definitions</h2>\n" + definition_list(report);
  return text + "<h2>Provenance</h2>\n" + provenance(report);
}

}  // namespace

std::string to_html(const Report& report) {
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
{style}</style>
</head>
<body>
{body}
<script type="application/json" id="charts">{charts}</script>
<!-- Vega, Vega-Lite and Vega-Embed: copyright University of Washington Interactive Data Lab, BSD-3-Clause licence. -->
<script type="module">
{vega}
</script>
<script type="module">
{script}</script>
</body>
</html>
)";
  const ChartData data = chart_data(report);
  const std::vector<Chart> charts = charts_of(data);
  return fmt::format(kPage, fmt::arg("title", html_escaped(report.manifest.scenario_name)),
                     fmt::arg("style", embedded_file("page.css")), fmt::arg("body", body(report, charts)),
                     fmt::arg("charts", script_escaped(chart_json(charts, data))),
                     fmt::arg("vega", embedded_file("vega_bundle.js")),
                     fmt::arg("script", embedded_file("page.js")));
}

}  // namespace packsim
