#include "reports/formats/formats.hpp"

#include <fmt/format.h>

#include "reports/formats/html_summary.hpp"
#include "reports/formats/html_tables.hpp"
#include "reports/text/escape.hpp"
#include "reports/verdict/verdict.hpp"

namespace packsim {
namespace {

constexpr std::size_t kTableColumns = 100;

constexpr std::string_view kStyle =
    "<style>.packsim p{margin:.3em 0}.packsim .best *{font-weight:bold}.packsim .unit,.packsim .tag{"
    "font-weight:normal;opacity:.7;margin-left:.4em}.packsim .oom{color:#c0392b}</style>\n";

std::string folded(std::string_view summary, const std::string& html) {
  return html.empty() ? "" : fmt::format("<details><summary>{}</summary>{}</details>\n", summary, html);
}

}  // namespace

std::string to_notebook_html(const Report& report) {
  const Verdict answer = verdict(report);
  std::string text =
      fmt::format("<p><b>{}{}</b></p>\n",
                  answer.best.empty() ? "" : "Best plan: ", formats_detail::html_escaped(answer.headline));
  for (const std::string& sentence : {answer.decision, answer.cost, answer.why, answer.not_compared}) {
    if (!sentence.empty()) text += fmt::format("<p>{}</p>\n", formats_detail::html_escaped(sentence));
  }
  text += formats_detail::short_run_table(report, kTableColumns);
  text += folded("Warnings", formats_detail::html_warnings(report.manifest));
  return fmt::format("<div class=\"packsim\">\n{}{}</div>\n", kStyle, text);
}

}  // namespace packsim
