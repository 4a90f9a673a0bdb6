#include "reports/formats/html_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reports/formats/html_table.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/definitions.hpp"
#include "reports/tables/memory_parts.hpp"
#include "reports/tables/shown_groups.hpp"
#include "reports/terminal/runs_table.hpp"
#include "reports/text/escape.hpp"
#include "reports/text/gpu_text.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

// Long names break behind these, and elsewhere only where they must.
std::string breakable(const std::string& name) {
  std::string html;
  for (const char c : html_escaped(name)) {
    html += c;
    if (c == '_' || c == '-') html += "<wbr>";
  }
  return html;
}

HtmlCell run_cell(const StrategyResult& run, const Report& report) {
  std::string tags;
  if (run.name == report.baseline) tags += " <span class=\"tag\">baseline</span>";
  if (run.failure) {
    tags += " <span class=\"tag oom\">failed</span>";
  } else if (!run.feasible) {
    tags += " <span class=\"tag oom\">does not fit</span>";
  }
  if (is_another_job(run)) tags += " <span class=\"tag oom\">another job</span>";
  return {breakable(run.name) + tags};
}

// A stacked bar with a mark where the GPU's memory ends. All bars of a page have the scale full_bytes.
std::string memory_bar(const PlannedGroup& group, double full_bytes) {
  if (full_bytes <= 0) return "";
  std::string parts;
  for (const MemoryPart& part : memory_parts()) {
    parts += fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\"></i>", part.name,
                         100 * part.size_bytes(group.memory) / full_bytes);
  }
  return fmt::format("<div class=\"memory\">{}<i class=\"limit\" style=\"left:{:.2f}%\"></i></div>", parts,
                     100 * group.gpu_memory_bytes / full_bytes);
}

HtmlTable::Row plan_row(const StrategyResult& run, const ShownGroup& shown, const Report& report,
                        double full_bytes) {
  const PlannedGroup& group = shown.group;
  HtmlTable::Row row{.cells = {run_cell(run, report)}};
  for (const std::string& text :
       {shown.capacity, sequence_text(group.sequence), shown.gc_layers, grouped(group.zero_stage),
        grouped(group.n_dp_ranks), micro_batches_text(group.micro_batches_per_rank), grouped(group.packs),
        grouped(group.iterations)}) {
    row.cells.push_back({text});
  }
  row.cells.push_back({memory_text(group), group.feasible ? "" : "oom"});
  row.cells.push_back({memory_bar(group, full_bytes)});
  for (const MemoryPart& part : memory_parts())
    row.cells.push_back({gibibytes(part.size_bytes(group.memory))});
  return row;
}

// "0", or "1,234,567 (2.5%)" of the tokens that the data set has over all epochs.
std::string with_share(std::int64_t tokens, const Report& report) {
  const auto all_tokens = static_cast<double>(report.lengths.n_tokens) * report.manifest.epochs;
  if (tokens == 0 || all_tokens <= 0) return grouped(tokens);
  return fmt::format("{} ({})", grouped(tokens), percent(static_cast<double>(tokens) / all_tokens));
}

double median_step_s(const RunTimes& times) {
  return times.step_quantiles_s[(times.step_quantiles_s.size() - 1) / 2];
}

constexpr std::string_view kComparison = "Comparison of the runs";

// The table has no groups above its columns.
HtmlTable table_of_runs(std::string_view name, const Report& report, std::span<const Column> shown,
                        std::span<const StrategyResult* const> runs) {
  HtmlTable table{.name = name, .style = "comparison", .heads = {{.title = "run"}}, .rows = {}};
  for (const Column& column : shown)
    table.heads.push_back({.title = std::string(column.title), .unit = column.unit});
  const StrategyResult* fastest = fastest_run(report);
  for (const StrategyResult* run : runs) {
    HtmlTable::Row row{.cells = {run_cell(*run, report)}, .is_best = run == fastest};
    for (const Column& column : shown) {
      const std::string text = column.text(*run);
      row.cells.push_back({html_escaped(text), text == "OOM" || text == "failed" ? "oom" : ""});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::string run_table(const Report& report, RunTable which) {
  const std::vector<Column> shown = columns(report, which);
  HtmlTable table = table_of_runs(which == RunTable::comparison ? kComparison : "Use of the GPUs, and cost",
                                  report, shown, sorted_runs(report));
  for (std::size_t c = 0; c < shown.size(); ++c) table.heads[c + 1].group = shown[c].group;
  return html(table);
}

std::string short_run_table(const Report& report, std::size_t width_columns) {
  const std::vector<Column> shown =
      fitting_columns(report, columns(report, RunTable::comparison), width_columns);
  return html(table_of_runs(kComparison, report, shown, sorted_runs(report)));
}

std::string plan_table(const Report& report) {
  HtmlTable table{
      .name = "Plans and memory of each group", .style = "plans", .heads = {{.title = "run"}}, .rows = {}};
  for (const char* title : {"capacity", "SP", "GC layers", "ZeRO", "DP ranks", "micro-batches"})
    table.heads.push_back({.title = title, .group = "Plan"});
  for (const char* title : {"packs", "iterations"})
    table.heads.push_back({.title = fmt::format("{} of the group", title), .group = "Plan", .shown = title});
  for (const char* title : {"peak memory", "memory"})
    table.heads.push_back({.title = title, .group = "Memory"});
  for (const MemoryPart& part : memory_parts())
    table.heads.push_back(
        {.title = std::string(part.name), .unit = "GiB", .group = "Memory", .swatch = part.name});
  double full_bytes = 0;
  for (const StrategyResult& run : report.runs) {
    for (const PlannedGroup& group : run.groups)
      full_bytes = std::max({full_bytes, group.peak_memory_bytes, group.gpu_memory_bytes});
  }
  for (const StrategyResult& run : report.runs) {
    for (const ShownGroup& shown : shown_groups(run))
      table.rows.push_back(plan_row(run, shown, report, full_bytes));
  }
  return html(table);
}

std::string accounting_table(const Report& report) {
  HtmlTable table{
      .name = "What became of the data", .style = "accounting", .heads = {{.title = "run"}}, .rows = {}};
  for (const char* title : {"policies", "trained tokens", "dropped samples", "dropped tokens", "cut samples",
                            "tokens cut off", "split samples", "in own packs", "empty samples",
                            "padded tokens", "repeated tokens", "curriculum iterations"})
    table.heads.push_back({.title = title});
  for (const StrategyResult& run : report.runs) {
    HtmlTable::Row row{.cells = {run_cell(run, report),
                                 {html_escaped(run.strategy + "; " + policies(run)), "text policies"}}};
    const DataCounts& counts = run.counts;
    for (const std::string& text :
         {grouped(counts.trained_tokens), grouped(counts.dropped_samples),
          with_share(counts.dropped_tokens, report), grouped(counts.truncated_samples),
          with_share(counts.truncated_tokens, report), grouped(counts.split_samples),
          grouped(counts.own_pack_samples), grouped(counts.empty_samples),
          with_share(counts.padded_tokens, report), with_share(counts.repeated_tokens, report),
          grouped(run.curriculum_iterations)}) {
      row.cells.push_back({text});
    }
    table.rows.push_back(std::move(row));
  }
  return html(table);
}

std::string slowest_table(const Report& report) {
  HtmlTable table{.name = "Slowest steps", .style = "slowest", .heads = {{.title = "run"}}, .rows = {}};
  for (const char* title : {"iteration", "takes", "step ABR", "tokens", "longest sample", "GPUs of a pack"})
    table.heads.push_back({.title = title});
  for (const StrategyResult& run : report.runs) {
    if (!run.times || run.times->step_quantiles_s.empty()) continue;
    const double median_s = median_step_s(*run.times);
    for (const SlowStep& slow : run.times->slowest_steps) {
      const std::string takes = fmt::format("{} s ({:.2f}x the median)", quantity(slow.step_s),
                                            slow.step_s / std::max(median_s, 1e-12));
      table.rows.push_back({{run_cell(run, report),
                             {grouped(slow.iteration)},
                             {takes},
                             {ratio(slow.abr)},
                             {grouped(slow.tokens)},
                             {grouped(slow.longest_tokens)},
                             {slow.gpus_per_pack ? grouped(*slow.gpus_per_pack) : std::string("mixed")}}});
    }
  }
  return table.rows.empty() ? "" : html(table);
}

std::string definition_list(const Report& report) {
  std::string items;
  const auto add = [&](std::string_view title, std::string_view unit, std::string_view text) {
    items +=
        fmt::format("<div><dt>{}{}</dt><dd id=\"{}\">{}</dd></div>\n", html_escaped(title),
                    unit.empty() ? "" : fmt::format(" ({})", unit), definition_id(title), html_escaped(text));
  };
  for (const RunTable table : {RunTable::comparison, RunTable::use_and_cost}) {
    for (const Column& column : columns(report, table)) add(column.title, column.unit, column.definition);
  }
  for (const Definition& definition : definitions()) {
    if (!definition.of_mixture || report.mixture) add(definition.title, "", definition.text);
  }
  return fmt::format("<dl class=\"details\">\n{}</dl>\n", items);
}

}  // namespace packsim::formats_detail
