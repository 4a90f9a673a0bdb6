#include "reports/formats/html_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reports/tables/bound_rows.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/loss_rows.hpp"
#include "reports/tables/run_values.hpp"
#include "reports/tables/search_rows.hpp"
#include "reports/tables/shown_groups.hpp"
#include "reports/text/escape.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/plan_text.hpp"

namespace packsim::formats_detail {
namespace {

std::string run_header(const StrategyResult& run, const Report& report, std::size_t n_rows = 1) {
  std::string tags;
  if (run.name == report.baseline) tags += " <span class=\"tag\">baseline</span>";
  if (run.failure) {
    tags += " <span class=\"tag oom\">failed</span>";
  } else if (!run.feasible) {
    tags += " <span class=\"tag oom\">does not fit</span>";
  }
  if (!run.differences.empty()) tags += " <span class=\"tag oom\">another job</span>";
  return fmt::format("<th scope=\"row\" rowspan=\"{}\">{}{}</th>", n_rows, html_escaped(run.name), tags);
}

bool starts_group(const std::vector<Column>& shown, std::size_t column) {
  return column == 0 || shown[column].group != shown[column - 1].group;
}

std::string run_table_head(const std::vector<Column>& shown) {
  std::string groups = "<th></th>";
  std::string titles = "<th scope=\"col\">run<span class=\"unit\"></span></th>";
  for (std::size_t c = 0; c < shown.size(); ++c) {
    const Column& column = shown[c];
    if (starts_group(shown, c)) {
      const auto members = std::ranges::count(shown, column.group, &Column::group);
      groups += fmt::format("<th colspan=\"{}\" class=\"starts-group\">{}</th>", members, column.group);
    }
    titles += fmt::format("<th scope=\"col\"{} title=\"{}\">{}<span class=\"unit\">{}</span></th>",
                          starts_group(shown, c) ? " class=\"starts-group\"" : "",
                          html_escaped(column.definition), column.title, column.unit);
  }
  return fmt::format("<thead><tr class=\"groups\">{}</tr>\n<tr>{}</tr></thead>\n", groups, titles);
}

std::string run_table_row(const StrategyResult& run, const Report& report, const std::vector<Column>& shown) {
  std::string cells = run_header(run, report);
  for (std::size_t c = 0; c < shown.size(); ++c) {
    const Column& column = shown[c];
    const std::string text = column.text(run);
    const std::string_view style = text == "OOM" || text == "failed" ? " oom" : "";
    cells += fmt::format("<td class=\"{}{}\" title=\"{}: {} {} {}\">{}</td>",
                         starts_group(shown, c) ? "starts-group" : "", style, html_escaped(run.name),
                         column.title, text, column.unit, text);
  }
  return fmt::format("<tr{}>{}</tr>\n", &run == fastest_run(report) ? " class=\"best\"" : "", cells);
}

struct MemoryPart {
  std::string_view name;
  double (*size_bytes)(const MemoryPeak& peak);
};

using Peak = MemoryPeak;
constexpr std::array<MemoryPart, 6> kMemoryParts = {
    {{"states", [](const Peak& p) { return p.weights_bytes + p.gradients_bytes + p.optimizer_bytes; }},
     {"activations",
      [](const Peak& p) { return p.activations_bytes + p.recomputed_bytes + p.activation_gradient_bytes; }},
     {"checkpoints", [](const Peak& p) { return p.checkpoints_bytes; }},
     {"logits", [](const Peak& p) { return p.logits_bytes; }},
     {"buffers", [](const Peak& p) { return p.gathered_weights_bytes + p.bucket_bytes + p.exchange_bytes; }},
     {"reserved", [](const Peak& p) { return p.reserved_bytes; }}}};

// A stacked bar with a mark where the GPU's memory ends. All bars of a page have the scale full_bytes.
std::string memory_bar(const PlannedGroup& group, double full_bytes) {
  if (full_bytes <= 0) return "";
  std::string parts;
  for (const MemoryPart& part : kMemoryParts) {
    const double size_bytes = part.size_bytes(group.memory);
    parts += fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\" title=\"{}: {} GiB\"></i>", part.name,
                         100 * size_bytes / full_bytes, part.name, gibibytes(size_bytes));
  }
  return fmt::format(
      "<div class=\"memory\">{}<i class=\"limit\" style=\"left:{:.2f}%\" title=\"GPU memory\"></i></div>",
      parts, 100 * group.gpu_memory_bytes / full_bytes);
}

std::string plan_row(const ShownGroup& shown, double full_bytes) {
  const PlannedGroup& group = shown.group;
  std::string cells;
  for (const std::string& text :
       {capacity(group.capacity_tokens), sequence_text(group.sequence), shown.gc_layers,
        grouped(group.zero_stage), grouped(group.n_dp_ranks),
        micro_batches_text(group.micro_batches_per_rank), grouped(group.packs), grouped(group.iterations)}) {
    cells += fmt::format("<td>{}</td>", text);
  }
  cells += fmt::format(
      "<td class=\"starts-group{}\">{}</td><td class=\"text\">{}</td>", group.feasible ? "" : " oom",
      gibibytes_used(group.peak_memory_bytes, group.gpu_memory_bytes), memory_bar(group, full_bytes));
  for (const MemoryPart& part : kMemoryParts) {
    cells += fmt::format("<td>{}</td>", gibibytes(part.size_bytes(group.memory)));
  }
  return cells;
}

// "0", or "1,234,567 (2.5%)" of the tokens that the data set has over all epochs.
std::string with_share(std::int64_t tokens, const Report& report) {
  const auto all_tokens = static_cast<double>(report.lengths.n_tokens) * report.manifest.epochs;
  if (tokens == 0 || all_tokens <= 0) return grouped(tokens);
  return fmt::format("{} ({})", grouped(tokens), percent(static_cast<double>(tokens) / all_tokens));
}

std::string head(std::span<const std::string_view> titles) {
  std::string cells;
  for (const std::string_view title : titles) cells += fmt::format("<th scope=\"col\">{}</th>", title);
  return fmt::format("<thead><tr>{}</tr></thead>\n", cells);
}

std::string table(std::string_view style, std::string_view head_rows, std::string_view rows) {
  return fmt::format("<div class=\"scroll\"><table class=\"{}\">\n{}<tbody>\n{}</tbody></table></div>\n",
                     style, head_rows, rows);
}

// Titles in front, the name of a row first.
std::string table_of_rows(const std::vector<std::vector<std::string>>& all) {
  std::string titles;
  for (const std::string& title : all.front()) titles += fmt::format("<th scope=\"col\">{}</th>", title);
  std::string rows;
  for (std::size_t r = 1; r < all.size(); ++r) {
    std::string cells = fmt::format("<th scope=\"row\">{}</th>", html_escaped(all[r].front()));
    for (std::size_t c = 1; c < all[r].size(); ++c) cells += fmt::format("<td>{}</td>", all[r][c]);
    rows += fmt::format("<tr>{}</tr>\n", cells);
  }
  return table("accounting", fmt::format("<thead><tr>{}</tr></thead>\n", titles), rows);
}

}  // namespace

std::string run_table(const Report& report, RunTable which) {
  const std::vector<Column> shown = columns(report, which);
  std::string rows;
  for (const StrategyResult& run : report.runs) rows += run_table_row(run, report, shown);
  return table("comparison", run_table_head(shown), rows);
}

std::string bound_table(const Report& report) {
  return table_of_rows(bound_rows(report));
}

std::string search_table(const Report& report) {
  return table_of_rows(search_rows(report));
}

std::string loss_table(const Report& report) {
  return table_of_rows(loss_rows(report));
}

std::string plan_table(const Report& report) {
  double full_bytes = 0;
  for (const StrategyResult& run : report.runs) {
    for (const PlannedGroup& group : run.groups) {
      full_bytes = std::max({full_bytes, group.peak_memory_bytes, group.gpu_memory_bytes});
    }
  }
  std::string titles;
  for (const char* title : {"run", "capacity", "SP", "GC layers", "ZeRO", "DP ranks", "micro-batches",
                            "packs", "iterations", "peak memory"}) {
    titles += fmt::format("<th scope=\"col\">{}</th>", title);
  }
  titles += "<th></th>";
  for (const MemoryPart& part : kMemoryParts) {
    titles += fmt::format(
        "<th scope=\"col\"><span class=\"swatch {}\"></span>{}<span class=\"unit\">GiB</span></th>",
        part.name, part.name);
  }
  std::string rows;
  for (const StrategyResult& run : report.runs) {
    const std::vector<ShownGroup> groups = shown_groups(run);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      rows += fmt::format("<tr>{}{}</tr>\n", g == 0 ? run_header(run, report, groups.size()) : "",
                          plan_row(groups[g], full_bytes));
    }
  }
  return table("plans", fmt::format("<thead><tr>{}</tr></thead>\n", titles), rows);
}

std::string accounting_table(const Report& report) {
  static constexpr std::array<std::string_view, 13> kTitles = {
      "run",           "policies",        "trained tokens",       "dropped samples", "dropped tokens",
      "cut samples",   "tokens cut off",  "split samples",        "in own packs",    "empty samples",
      "padded tokens", "repeated tokens", "curriculum iterations"};
  std::string rows;
  for (const StrategyResult& run : report.runs) {
    rows += fmt::format("<tr>{}<td class=\"text policies\">{}</td>", run_header(run, report),
                        html_escaped(run.strategy + "; " + policies(run)));
    for (const std::string& text :
         {grouped(run.counts.trained_tokens), grouped(run.counts.dropped_samples),
          with_share(run.counts.dropped_tokens, report), grouped(run.counts.truncated_samples),
          with_share(run.counts.truncated_tokens, report), grouped(run.counts.split_samples),
          grouped(run.counts.own_pack_samples), grouped(run.counts.empty_samples),
          with_share(run.counts.padded_tokens, report), with_share(run.counts.repeated_tokens, report),
          grouped(run.curriculum_iterations)}) {
      rows += fmt::format("<td>{}</td>", text);
    }
    rows += "</tr>\n";
  }
  return table("accounting", head(kTitles), rows);
}

std::string definition_list(const Report& report) {
  std::string items;
  for (const RunTable table : {RunTable::comparison, RunTable::use_and_cost}) {
    for (const Column& column : columns(report, table)) {
      const std::string unit = column.unit.empty() ? "" : fmt::format(" ({})", column.unit);
      items += fmt::format("<div><dt>{}{}</dt><dd>{}</dd></div>\n", column.title, unit,
                           html_escaped(column.definition));
    }
  }
  return fmt::format("<dl class=\"details\">\n{}</dl>\n", items);
}

}  // namespace packsim::formats_detail
