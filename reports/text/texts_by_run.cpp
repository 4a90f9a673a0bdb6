#include "reports/text/texts_by_run.hpp"

#include <algorithm>

#include "files/text/printable.hpp"

namespace packsim::formats_detail {

std::vector<TextOfRuns> texts_by_run(const Report& report,
                                     const std::function<std::string(const StrategyResult&)>& text_of) {
  std::vector<TextOfRuns> texts;
  std::size_t n_told = 0;
  for (const StrategyResult& run : report.runs) {
    const std::string text = printable(text_of(run));
    if (text.empty()) continue;
    auto found = std::ranges::find(texts, text, &TextOfRuns::text);
    if (found == texts.end()) found = texts.insert(found, {text, ""});
    ++n_told;
    found->runs += (found->runs.empty() ? "" : ", ") + printable_name(run.name);
  }
  if (texts.size() == 1 && n_told == report.runs.size() && n_told > 1) texts[0].runs = "all runs";
  return texts;
}

}  // namespace packsim::formats_detail
