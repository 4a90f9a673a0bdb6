#include "reports/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "reports/charts/chart_data.hpp"
#include "reports/charts/charts.hpp"
#include "reports/charts/charts_json.hpp"
#include "reports/charts/shown_runs.hpp"
#include "reports/files/embedded.hpp"
#include "reports/files/html_page.hpp"
#include "reports/formats/html_summary.hpp"
#include "reports/formats/html_table.hpp"
#include "reports/formats/html_tables.hpp"
#include "reports/tables/bound_rows.hpp"
#include "reports/tables/definitions.hpp"
#include "reports/tables/loss_rows.hpp"
#include "reports/tables/mixture_rows.hpp"
#include "reports/tables/run_notes.hpp"
#include "reports/tables/run_values.hpp"
#include "reports/tables/search_rows.hpp"
#include "reports/text/escape.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

constexpr std::size_t kMostOpenNotes = 8;

std::string notes_list(std::span<const RunNote> notes) {
  std::string items;
  for (const RunNote& note : notes) {
    items += fmt::format("<li{}><b>{}</b> {}.</li>\n", note.is_problem ? " class=\"oom\"" : "",
                         html_escaped(note.run), html_escaped(note.text));
  }
  return items.empty() ? "" : fmt::format("<ul>\n{}</ul>\n", items);
}

std::string run_notes_html(const Report& report) {
  const std::vector<RunNote> notes = run_notes(report);
  const std::span all(notes);
  if (all.size() <= kMostOpenNotes) return notes_list(all);
  return notes_list(all.first(kMostOpenNotes)) +
         fmt::format("<details><summary>{} more notes</summary>{}</details>\n", all.size() - kMostOpenNotes,
                     notes_list(all.subspan(kMostOpenNotes)));
}

// How deep a heading is: parts that are folded away have headings of their own.
enum class Depth { page = 2, fold = 3 };

std::string heading(std::string_view title, Depth depth) {
  return title.empty() ? "" : fmt::format("<h{0}>{1}</h{0}>\n", static_cast<int>(depth), html_escaped(title));
}

std::string note_html(std::string_view note) {
  return note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", html_escaped(note));
}

std::string figure(const Chart& chart, Depth depth) {
  const std::string title = heading(chart.title, depth);
  if (chart.spec.is_null()) return title + note_html(chart.if_zero);
  return fmt::format(
      "<section>{}<figure data-chart=\"{}\"><figcaption>{}</figcaption>\n"
      "<div class=\"choices\"></div>\n"
      "<div class=\"plot\"><noscript>This chart needs JavaScript.</noscript></div></figure></section>\n",
      title, chart.name, html_escaped(chart.caption));
}

// The charts of a part of the page that is folded, or of the page itself, whose name is empty.
std::string figures(std::span<const Chart> charts, std::string_view fold, Depth depth) {
  std::string text;
  for (const Chart& chart : charts)
    if (chart.fold == fold) text += figure(chart, depth);
  return text;
}

// Each by itself, so that what one cannot do does not stop the others.
std::string scripts() {
  std::string text;
  for (const std::string_view name : {"tables.js", "definitions.js", "copy.js", "charts.js", "print.js"})
    text += fmt::format("<script type=\"module\">\n{}</script>\n", embedded_file(name));
  return text;
}

// A table of a folded part with its heading and a note; empty without rows.
std::string section(std::string_view title, std::string_view note, const std::string& table) {
  return table.empty() ? "" : heading(title, Depth::fold) + note_html(note) + table;
}

std::string texts_table(std::string_view name, const std::vector<std::vector<std::string>>& rows) {
  return rows.empty() ? "" : html(table_of_rows(name, rows));
}

// Its columns are named by the normalisers, and mean the same.
std::string loss_table(const Report& report) {
  if (loss_rows(report).empty()) return "";
  HtmlTable table = table_of_rows("Loss weights", loss_rows(report));
  for (HtmlHead& head : table.heads) {
    if (find_definition(head.title) == nullptr) head = {.title = "misplaced share", .shown = head.title};
  }
  return html(table);
}

// What a mixture did, and what it rests on; empty without one.
std::string mixture_tables(const Report& report) {
  if (!report.mixture) return "";
  std::string items;
  for (const std::string& sentence : mixture_sentences(*report.mixture))
    items += fmt::format("<li>{}</li>\n", html_escaped(sentence));
  return fmt::format("<ul>\n{}</ul>\n", items) +
         section("Arms", "", texts_table("The mixture's arms", mixture_arm_rows(report, true))) +
         section("Runs of the mixture", kMixtureRunNote,
                 texts_table("Runs of the mixture", mixture_run_rows(report))) +
         section("What rewards cost", kProbeNote, texts_table("What rewards cost", probe_rows(report)));
}

constexpr std::string_view kUseAndCost = "Use of the GPUs, and cost";

std::string use_table(const Report& report) {
  return columns(report, RunTable::use_and_cost).empty() ? "" : run_table(report, RunTable::use_and_cost);
}

std::string step_tables(const Report& report) {
  return section("Slowest steps",
                 "The steps of each run that take longest, how many times as long as its median step, and "
                 "what they train.",
                 slowest_table(report));
}

std::string plan_tables(const Report& report) {
  return section("Plans and memory of each group",
                 "Peak memory of one GPU at the largest micro-batch; the upright mark is the memory that the "
                 "GPU has. SP: GPUs that share a sequence. GC: layers that are recomputed in the backward "
                 "pass. Micro-batches: per DP rank and iteration.",
                 plan_table(report));
}

std::string data_tables(const Report& report) {
  return section(
             "What became of the data",
             "Tokens are counted over all epochs, samples in one epoch. Percentages are of the data set's "
             "tokens over all epochs.",
             accounting_table(report)) +
         section("Loss weights", kLossNote, loss_table(report));
}

std::string search_tables(const Report& report) {
  return section("Lower bound", kBoundNote, texts_table("Lower bound", bound_rows(report))) +
         section("Plans found by search", kSearchNote,
                 texts_table("Plans found by search", search_rows(report)));
}

// A part of the page that a reader opens: its charts, which name it, and its tables.
struct Fold {
  std::string_view title;
  std::string (*tables)(const Report&);
};

constexpr Fold kFolds[] = {{"Mixture", mixture_tables},
                           {kUseAndCost, use_table},
                           {"Steps and ranks", step_tables},
                           {"Memory, packs and plans", plan_tables},
                           {"Data", data_tables},
                           {"Lower bound and searches", search_tables},
                           {"Definitions", definition_list}};

std::string folds(const Report& report, std::span<const Chart> charts) {
  std::string text;
  for (const Fold& fold : kFolds) {
    const std::string inside = figures(charts, fold.title, Depth::fold) + fold.tables(report);
    if (inside.empty()) continue;
    text += fmt::format("<details class=\"fold\"><summary><h2>{}</h2></summary>\n{}</details>\n", fold.title,
                        inside);
  }
  return text;
}

std::string comparison(const Report& report) {
  return heading("Comparison", Depth::page) +
         note_html(
             "The columns of Balance are fractions from 0 to 1, and 0 is best; 0 without decimals is "
             "exactly zero. k, M and B are powers of 1000, K is 1024. Column heads sort, and say what they "
             "mean on hover and focus. The fastest run is bold.") +
         run_table(report, RunTable::comparison) + run_notes_html(report);
}

constexpr std::string_view kFoldsOnPaper =
    "<p class=\"note paper-note\">The parts of the page below are printed only if they are open in the "
    "browser. "
    "Their numbers are in report.json and report.csv beside report.html.</p>\n";

std::string body(const Report& report, std::span<const Chart> charts) {
  std::string text = fmt::format(
      "<header>\n<p class=\"kicker\">packsim: packing strategies "
      "compared</p>\n<h1>{}</h1>\n<p>{}</p>\n</header>\n<main>\n",
      html_escaped(report.manifest.scenario_name), html_escaped(report.manifest.scenario_description));
  text += html_verdict(report) + html_warnings(report.manifest) + html_facts(report);
  const Report shown = with_shown_runs(report);
  text += note_html(shown_runs_sentence(report));
  text += figures(charts, "", Depth::page);
  text += comparison(shown);
  text += std::string(kFoldsOnPaper) + folds(shown, charts);
  return text + "<h2>Where this comes from</h2>\n" + html_provenance(report) + "</main>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  const ChartData data = chart_data(report);
  const std::vector<Chart> charts = charts_of(data);
  return html_page({.title = report.manifest.scenario_name,
                    .style = "",
                    .body = body(report, charts),
                    .data_id = "charts",
                    .data = charts_json(charts, data),
                    .scripts = scripts()});
}

}  // namespace packsim
