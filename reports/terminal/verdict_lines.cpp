#include "reports/terminal/verdict_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "files/text/printable.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/reliability_text.hpp"
#include "reports/text/text_table.hpp"
#include "reports/verdict/verdict.hpp"

namespace packsim::formats_detail {
namespace {

constexpr std::size_t kLabelColumns = 11;
constexpr std::size_t kMostDecisionLines = 4;
constexpr std::size_t kMostHeadlineLines = 2;
constexpr std::size_t kMostSentenceLines = 4;
constexpr std::size_t kMostJobLines = 2;
constexpr std::size_t kMostSharedLines = 2;
constexpr std::size_t kFewestGroupLines = 3;  // titles, a group, and how many more there are
// All that is shown whatever else there is: the title, the job, an empty line, the decision, the headline,
// cost, why, settings.
static_assert(2 + kMostJobLines + kMostDecisionLines + kMostHeadlineLines + 2 * kMostSentenceLines +
                  kMostSharedLines + kFewestGroupLines <=
              kVerdictLines);

// "Set: packs up to 128K, SP 8, ..." of a row of settings.
std::string group_sentence(const std::vector<std::string>& titles, const std::vector<std::string>& row) {
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < row.size(); ++i) settings.push_back(titles[i] + " " + row[i]);
  return fmt::format("Set: {}.", fmt::join(settings, ", "));
}

// Adds labelled sentences and tables while there is room.
class VerdictBuilder {
 public:
  VerdictBuilder(std::size_t width_columns, const Style& style)
      : width_columns_(width_columns), style_(style) {}

  void add_title(const Report& report) {
    const RunManifest& manifest = report.manifest;
    const LengthSummary& lengths = report.lengths;
    text_.lines.push_back(style_.bold(shortened(printable_name(manifest.scenario_name), width_columns_)));
    const std::string job = fmt::format("{} on {}: {} samples, {} tokens, {} {}",
                                        printable_name(manifest.model), printable(cluster_text(manifest)),
                                        grouped(lengths.n_samples), token_count(lengths.n_tokens),
                                        manifest.epochs, manifest.epochs == 1 ? "epoch" : "epochs");
    add(wrapped_lines(job, width_columns_, 0), kMostJobLines);
    text_.lines.emplace_back();
  }

  // A sentence that is cut, or left out, is told after the table.
  void add_sentence(std::string_view label, const std::string& sentence, std::size_t most_lines) {
    if (sentence.empty()) return;
    const std::vector<std::string> lines = sentence_lines(sentence);
    if (lines.size() > most_lines) text_.left_out.push_back(sentence);
    add_labelled(label, lines, most_lines);
  }

  // What all groups share, and then a row for each group.
  void add_settings(const Verdict& verdict, std::size_t most_lines) {
    add_sentence("Set", verdict.settings, kMostSharedLines);
    const std::size_t n_shared = std::min(kMostSharedLines, lines_of(verdict.settings));
    add_groups(verdict, std::max(most_lines - std::min(most_lines, n_shared), kFewestGroupLines));
  }

  // The first doubts for which there is room, each whole.
  void add_doubts(const std::vector<std::string>& doubts, std::size_t most_lines) {
    std::string_view label = "Doubts";
    for (const std::string& doubt : doubts) {
      const std::vector<std::string> lines = sentence_lines(doubt);
      if (lines.size() > most_lines) {
        text_.left_out.push_back(doubt);
        continue;
      }
      add_labelled(label, lines, most_lines);
      most_lines -= lines.size();
      label = "";
    }
  }

  void add_if_it_fits(std::string_view label, const std::string& sentence) {
    if (!sentence.empty() && lines_of(sentence) <= room())
      add_labelled(label, sentence_lines(sentence), room());
  }

  std::size_t lines_of(const std::string& sentence) const {
    return sentence.empty() ? 0 : sentence_lines(sentence).size();
  }

  std::size_t room() const { return kVerdictLines - text_.lines.size(); }
  VerdictText take() { return std::move(text_); }

 private:
  void add_groups(const Verdict& verdict, std::size_t most_lines) {
    const std::vector<std::vector<std::string>> rows = setting_rows(verdict);
    std::vector<std::string> lines = table_lines(rows);
    const auto is_too_wide = [&](const std::string& line) {
      return display_columns(line) > width_columns_ - kLabelColumns;
    };
    if (std::ranges::any_of(lines, is_too_wide)) {
      for (std::size_t i = 1; i < rows.size(); ++i)
        text_.left_out.push_back(group_sentence(rows[0], rows[i]));
      lines = {"each group as below the table"};
    }
    if (lines.size() > most_lines) {
      const std::size_t n_shown = most_lines - 2;  // titles, and the line that counts the others
      const std::size_t n_hidden = lines.size() - 1 - n_shown;
      lines.resize(n_shown + 1);
      lines.push_back(fmt::format("and {} more rows, which --wide lists", n_hidden));
    }
    for (const std::string& line : lines) text_.lines.push_back(std::string(kLabelColumns, ' ') + line);
  }

  // The lines leave room for the label.
  std::vector<std::string> sentence_lines(const std::string& sentence) const {
    return wrapped_lines(sentence, width_columns_ - kLabelColumns, 0);
  }

  void add(std::vector<std::string> lines, std::size_t most_lines) {
    if (lines.size() > most_lines) {
      lines.resize(most_lines);
      lines.back() = std::string(start_within(lines.back(), width_columns_ - 4)) + " ...";
    }
    std::ranges::move(lines, std::back_inserter(text_.lines));
  }

  void add_labelled(std::string_view label, std::vector<std::string> lines, std::size_t most_lines) {
    for (std::string& line : lines) line.insert(0, kLabelColumns, ' ');
    lines.front().replace(0, kLabelColumns, style_.bold(fmt::format("{:<{}}", label, kLabelColumns)));
    add(std::move(lines), most_lines);
  }

  std::size_t width_columns_;
  Style style_;
  VerdictText text_;
};

}  // namespace

VerdictText verdict_text(const Report& report, std::size_t width_columns, const Style& style) {
  const Verdict verdict = packsim::verdict(report);
  VerdictBuilder builder(width_columns, style);
  builder.add_title(report);
  if (verdict.best.empty()) {
    builder.add_sentence("No plan", verdict.headline, builder.room());
    return builder.take();
  }
  builder.add_sentence("Decision", verdict.decision, kMostDecisionLines);
  builder.add_sentence(report.runs.size() == 1 ? "Plan" : "Best plan", verdict.headline, kMostHeadlineLines);
  builder.add_sentence("Cost", verdict.cost, kMostSentenceLines);
  builder.add_sentence("Why", verdict.why, kMostSentenceLines);
  // The settings get what room the first doubt leaves, but always a few lines.
  const std::size_t first_doubt = verdict.doubts.empty() ? 0 : builder.lines_of(verdict.doubts.front());
  const std::size_t room = builder.room();
  builder.add_settings(verdict, room - std::min(room, first_doubt));
  builder.add_doubts(verdict.doubts, builder.room());
  // The notes below the table say the same with reasons if there is no room here.
  builder.add_if_it_fits("", verdict.not_compared);
  return builder.take();
}

}  // namespace packsim::formats_detail
