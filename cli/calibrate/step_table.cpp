#include "cli/calibrate/step_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text/display_width.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"

namespace packsim {
namespace {

using formats_detail::counted;
using formats_detail::display_columns;
using formats_detail::grouped;
using formats_detail::percent;

constexpr std::size_t kHeaderLines = 2;

// "2,048 tokens each", "4,096, .., 3,281 tokens": of many packs the middle is left out.
std::string pack_sizes(const std::vector<Documents>& packs) {
  constexpr std::size_t kMostShown = 3;
  const std::int64_t first = packs.front().tokens();
  const bool are_alike =
      std::ranges::all_of(packs, [&](const Documents& pack) { return pack.tokens() == first; });
  if (are_alike) return grouped(first) + (packs.size() == 1 ? " tokens" : " tokens each");
  std::string sizes;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    const bool is_shown = packs.size() <= kMostShown || i == 0 || i + 1 == packs.size();
    if (!is_shown && i > 1) continue;
    sizes += (i == 0 ? "" : ", ") + (is_shown ? grouped(packs[i].tokens()) : "..");
  }
  return sizes + " tokens";
}

std::string packs_text(const std::vector<Documents>& packs) {
  std::int64_t n_documents = 0;
  for (const Documents& pack : packs) n_documents += pack.n_documents();
  return fmt::format("{} of {} ({})", counted(static_cast<std::int64_t>(packs.size()), "pack"),
                     pack_sizes(packs), counted(n_documents, "document"));
}

std::string short_packs_text(const std::vector<Documents>& packs) {
  std::int64_t n_documents = 0;
  std::int64_t n_tokens = 0;
  for (const Documents& pack : packs) {
    n_documents += pack.n_documents();
    n_tokens += pack.tokens();
  }
  const std::string size = packs.size() == 1 ? counted(n_tokens, "token")
                                             : counted(static_cast<std::int64_t>(packs.size()), "pack");
  return size + ", " + counted(n_documents, "document");
}

std::string gibibytes_text(double size_bytes) {
  return formats_detail::gibibytes(size_bytes) + " GiB";
}

struct StepColumn {
  std::string title;  // its two lines
  std::string unit = {};
  int priority = 0;  // the largest is the first that is left out
  std::string (*text)(const StepError& row);
};

std::vector<StepColumn> columns_of(const StepValidation& validation) {
  std::vector<StepColumn> columns = {
      {"", "measured", 0, [](const StepError& row) { return readable_time(row.measured_s); }},
      {"", "spread", 4, [](const StepError& row) { return percent(row.spread); }},
      {"sum of", "kernels", 3, [](const StepError& row) { return readable_time(row.predicted.time_s); }},
      {"", "error", validation.framework ? 3 : 0, [](const StepError& row) {
         return row.predicted.missing.empty() ? signed_percent(row.error) : "incomplete";
       }}};
  if (!validation.framework) return columns;
  columns.push_back(
      {"with", "framework", 1, [](const StepError& row) { return readable_time(row.with_framework_s); }});
  columns.push_back(
      {"", "error", 0, [](const StepError& row) { return signed_percent(row.with_framework_error); }});
  const auto has_memory = [](const StepError& row) { return row.measured_memory_bytes.has_value(); };
  if (std::ranges::none_of(validation.rows, has_memory)) return columns;
  columns.push_back({"memory", "measured", 2, [](const StepError& row) {
                       return row.measured_memory_bytes ? gibibytes_text(*row.measured_memory_bytes) : "-";
                     }});
  columns.push_back({"", "error", 2, [](const StepError& row) {
                       return row.measured_memory_bytes ? signed_percent(row.with_framework_memory_error)
                                                        : "-";
                     }});
  return columns;
}

std::vector<std::string> number_lines(const StepValidation& validation,
                                      const std::vector<StepColumn>& columns) {
  std::vector<std::vector<std::string>> table(kHeaderLines, {""});
  for (const StepColumn& column : columns) {
    table[0].push_back(column.title);
    table[1].push_back(column.unit);
  }
  for (const StepError& row : validation.rows) {
    std::vector<std::string>& line = table.emplace_back();
    line.emplace_back(!validation.framework ? "" : row.fit_row ? "  fitted" : "  held out");
    for (const StepColumn& column : columns) line.push_back(column.text(row));
  }
  return formats_detail::table_lines(table);
}

std::size_t widest(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, display_columns(line));
  return width;
}

void add_summary(std::vector<std::vector<std::string>>& table, const std::string& name,
                 const ErrorSummary& summary) {
  if (summary.n == 0) return;
  table.push_back({name, std::to_string(summary.n), signed_percent(summary.mean), percent(summary.median),
                   percent(summary.p90), percent(summary.worst)});
}

void add_summaries(std::vector<std::vector<std::string>>& table, const std::string& name,
                   const FrameworkSummaries& summaries) {
  add_summary(table, name + ", fitted", summaries.fitted);
  add_summary(table, name + ", left out", summaries.left_out);
  add_summary(table, name + ", held out", summaries.held_out);
}

}  // namespace

std::string step_label(const KernelCase& step, const Transformer& model, std::size_t width_columns) {
  const std::int64_t n_layers = step.integer("layers");
  std::string label = step.value("model") + ", ";
  label += n_layers < model.n_layers ? fmt::format("{} of {} layers", n_layers, model.n_layers)
                                     : counted(n_layers, "layer");
  if (step.integer("gc_layers") > 0) label += fmt::format(", {} checkpointed", step.integer("gc_layers"));
  if (step.integer("sp") > 1) label += fmt::format(", sp {}", step.integer("sp"));
  if (step.integer("dp") > 1) label += fmt::format(", dp {}", step.integer("dp"));
  if (step.integer("zero") > 0) label += fmt::format(", ZeRO {}", step.integer("zero"));
  const std::vector<Documents> packs = step.packs("packs");
  const std::string whole = label + ", " + packs_text(packs);
  return display_columns(whole) <= width_columns ? whole : label + ", " + short_packs_text(packs);
}

std::string step_table(const StepValidation& validation, const ModelByName& model,
                       std::size_t width_columns) {
  std::vector<StepColumn> columns = columns_of(validation);
  std::vector<std::string> lines = number_lines(validation, columns);
  for (int least = 4; least > 0 && widest(lines) > width_columns; --least) {
    std::erase_if(columns, [&](const StepColumn& column) { return column.priority == least; });
    lines = number_lines(validation, columns);
  }
  std::string text;
  for (std::size_t i = 0; i < kHeaderLines; ++i) {
    if (!lines[i].empty()) text += lines[i] + "\n";
  }
  for (std::size_t i = 0; i < validation.rows.size(); ++i) {
    const KernelCase step = KernelCase::parse(validation.rows[i].step);
    const std::string label = step_label(step, model(step.value("model")), width_columns);
    for (const std::string& line : formats_detail::wrapped_lines(label, width_columns, 2))
      text += line + "\n";
    text += lines[i + kHeaderLines] + "\n";
  }
  return text;
}

std::string error_summary_table(const StepValidation& validation) {
  std::vector<std::vector<std::string>> table = {{"error", "steps", "mean", "median", "p90", "worst"}};
  add_summary(table, "sum of kernels", validation.kernels_alone);
  add_summaries(table, "with framework", validation.with_framework);
  add_summaries(table, "peak memory", validation.memory);
  return table.size() > 1 ? formats_detail::text_table(table) : "";
}

}  // namespace packsim
