#include "reports/formats/terminal_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/tables/bound_rows.hpp"
#include "reports/tables/conclusion.hpp"
#include "reports/tables/loss_rows.hpp"
#include "reports/tables/run_notes.hpp"
#include "reports/tables/run_values.hpp"
#include "reports/tables/search_rows.hpp"
#include "reports/tables/shown_groups.hpp"
#include "reports/text/escape.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/plan_text.hpp"
#include "reports/text/reliability_text.hpp"
#include "reports/text/text_table.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

constexpr int kNarrowestWrap_columns = 60;
constexpr int kLabel_columns = 12;

std::string labelled(std::string_view label, std::string_view text, int width_columns) {
  return wrapped(fmt::format("{:<{}}{}", label, kLabel_columns, printable(text)), width_columns,
                 kLabel_columns);
}

std::string header(const Report& report, int width_columns) {
  const RunManifest& manifest = report.manifest;
  const LengthSummary& lengths = report.lengths;
  std::string text = printable_name(manifest.scenario_name) + "\n";
  const auto line = [&](std::string_view label, std::string_view value) {
    text += labelled(label, value, width_columns);
  };
  if (!manifest.scenario_description.empty()) {
    text += wrapped(printable(manifest.scenario_description), width_columns, 0);
  }
  text += "\n";
  line("model", manifest.model);
  line("cluster", cluster_text(manifest));
  line("data",
       fmt::format("{} samples, {} tokens; sample length: median {}, mean {}, p99 {}, longest {} tokens",
                   grouped(lengths.n_samples), token_count(lengths.n_tokens), grouped(lengths.median_tokens),
                   quantity(lengths.mean_tokens), grouped(lengths.p99_tokens),
                   grouped(lengths.longest_tokens)));
  for (const LengthSummary::Source& source : lengths.sources) {
    const std::string repeats =
        source.repeated_samples == 0
            ? ""
            : fmt::format(", {} samples drawn more than once", grouped(source.repeated_samples));
    line("  source", fmt::format("{}: {} samples, {} tokens{}", source.name, grouped(source.n_samples),
                                 token_count(source.n_tokens), repeats));
  }
  line("training",
       fmt::format("{} tokens per iteration, {} {}, seed {}", grouped(manifest.tokens_per_iteration),
                   manifest.epochs, manifest.epochs == 1 ? "epoch" : "epochs", manifest.seed));
  line("plan", plan_text(manifest.plan));
  line("profile", fmt::format("{} ({}), on hardware profile {}", manifest.profile, manifest.profile_source,
                              manifest.hardware));
  if (manifest.level == "op") line("level", "op: exchanges and transfers share links");
  if (manifest.variability.any()) line("variability", variability_text(manifest.variability));
  if (manifest.failures) line("failures", failures_text(*manifest.failures));
  for (const std::string& warning : manifest.warnings) line("WARNING", warning);
  return text;
}

// The first column has the names of the runs and this title.
std::string run_table(const Report& report, RunTable table, const std::string& title) {
  std::vector<std::vector<std::string>> rows = {{title}, {""}};
  const std::vector<Column> shown = columns(report, table);
  if (shown.empty()) return "";
  for (const Column& column : shown) {
    rows[0].emplace_back(column.title);
    rows[1].emplace_back(column.unit);
  }
  for (const StrategyResult& run : report.runs) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(printable_name(run.name) + (run.name == report.baseline ? " *" : "") +
                  (run.differences.empty() ? "" : " !"));
    for (const Column& column : shown) row.push_back(column.text(run));
  }
  return text_table(rows);
}

std::string run_notes_text(const Report& report, int width_columns) {
  std::string text;
  for (const RunNote& note : run_notes(report))
    text += wrapped(printable(printable_name(note.run) + " " + note.text), width_columns, 2);
  return text;
}

std::string notes(const Report& report, int width_columns) {
  std::string text =
      "* the baseline. ! trains another job than the others, for the reason below the table. OOM: does not "
      "fit in GPU memory. 0 means exactly none. k, M, B are powers of 1000; K is 1024.";
  text = wrapped(text, width_columns, 0);
  for (const RunTable table : {RunTable::comparison, RunTable::use_and_cost}) {
    for (const Column& column : columns(report, table))
      text += labelled(column.title, column.definition, width_columns);
  }
  return text;
}

std::string bounds(const Report& report, int width_columns) {
  if (report.bounds.empty()) return "";
  return text_table(bound_rows(report)) + wrapped(kBoundNote, width_columns, 0) + "\n";
}

std::string losses(const Report& report, int width_columns) {
  std::vector<std::vector<std::string>> rows = loss_rows(report);
  if (rows.empty()) return "";
  for (std::vector<std::string>& row : rows) row.front() = printable_name(row.front());
  return text_table(rows) + wrapped(kLossNote, width_columns, 0) + "\n";
}

// One row per group; the lines under a run's first one leave its name out.
std::string plans(const Report& report) {
  std::vector<std::vector<std::string>> rows = {{"plan", "capacity", "SP", "GC layers", "ZeRO", "DP ranks",
                                                 "micro-batches", "packs", "iterations", "peak of GPU memory",
                                                 ""}};
  for (const StrategyResult& run : report.runs) {
    bool is_first = true;
    for (const auto& [group, gc_layers] : shown_groups(run)) {
      rows.push_back(
          {std::exchange(is_first, false) ? printable_name(run.name) : "", capacity(group.capacity_tokens),
           sequence_text(group.sequence), gc_layers, fmt::format("{}", group.zero_stage),
           fmt::format("{}", group.n_dp_ranks), micro_batches_text(group.micro_batches_per_rank),
           grouped(group.packs), grouped(group.iterations),
           gibibytes_used(group.peak_memory_bytes, group.gpu_memory_bytes), group.feasible ? "" : "OOM"});
    }
  }
  return text_table(rows);
}

std::string searches(const Report& report, int width_columns) {
  std::vector<std::vector<std::string>> rows = search_rows(report);
  if (rows.empty()) return "";
  for (std::vector<std::string>& row : rows) row.front() = printable_name(row.front());
  return text_table(rows) + wrapped(kSearchNote, width_columns, 0) + "\n";
}

// The policies, each combination once with the runs that share it.
std::string shared_policies(const Report& report, int width_columns) {
  std::vector<std::pair<std::string, std::string>> runs_by_policies;
  for (const StrategyResult& run : report.runs) {
    const std::string text = printable(policies(run));
    auto found = std::ranges::find(runs_by_policies, text, &std::pair<std::string, std::string>::first);
    if (found == runs_by_policies.end()) found = runs_by_policies.insert(found, {text, ""});
    found->second += (found->second.empty() ? "" : ", ") + printable_name(run.name);
  }
  std::string text;
  for (const auto& [policy, runs] : runs_by_policies) text += wrapped(runs + ": " + policy, width_columns, 2);
  return text;
}

// What happened to whole samples, where anything did: the table above counts tokens.
std::string sample_changes(const Report& report, int width_columns) {
  std::string text;
  for (const StrategyResult& run : report.runs) {
    std::string changes;
    const auto add = [&](std::int64_t n_samples, const char* what) {
      if (n_samples > 0)
        changes += fmt::format("{}{} samples {}", changes.empty() ? "" : ", ", grouped(n_samples), what);
    };
    add(run.counts.split_samples, "cut into pieces that do not attend to each other");
    add(run.counts.truncated_samples, "cut short");
    add(run.counts.dropped_samples, "over-long and left out");
    add(run.counts.own_pack_samples, "over-long and in packs of their own");
    add(run.counts.empty_samples, "without tokens and left out");
    if (!changes.empty()) text += wrapped(printable_name(run.name) + ": " + changes, width_columns, 2);
  }
  return text;
}

// The main reasons why intervals are wide, each once with the runs that it concerns.
std::string interval_reasons(const Report& report, int width_columns) {
  std::vector<std::pair<std::string, std::string>> runs_by_reason;
  for (const StrategyResult& run : report.runs) {
    if (!run.times || !run.times->largest_uncertainty) continue;
    const std::string& reason = *run.times->largest_uncertainty;
    auto found = std::ranges::find(runs_by_reason, reason, &std::pair<std::string, std::string>::first);
    if (found == runs_by_reason.end()) found = runs_by_reason.insert(found, {reason, ""});
    found->second += (found->second.empty() ? "" : ", ") + printable_name(run.name);
  }
  std::string text;
  for (const auto& [reason, runs] : runs_by_reason) {
    const bool is_all = runs_by_reason.size() == 1;
    text += wrapped(fmt::format("Most of the 90% interval{} comes from this: {}.",
                                is_all ? "" : " of " + runs, printable(reason)),
                    width_columns, 2);
  }
  return text;
}

}  // namespace

std::string to_terminal(const Report& report, int width_columns) {
  const int wrap_columns = std::max(width_columns, kNarrowestWrap_columns);
  const std::string note_lines = run_notes_text(report, wrap_columns);
  std::string text =
      header(report, wrap_columns) + "\n" + run_table(report, RunTable::comparison, "run") + "\n";
  if (!note_lines.empty()) text += note_lines + "\n";
  const std::string changes = sample_changes(report, wrap_columns);
  if (!changes.empty()) text += changes + "\n";
  const std::string reasons = interval_reasons(report, wrap_columns);
  if (!reasons.empty()) text += reasons + "\n";
  const std::string use_and_cost = run_table(report, RunTable::use_and_cost, "use and cost");
  if (!use_and_cost.empty()) text += use_and_cost + "\n";
  return text + bounds(report, wrap_columns) + losses(report, wrap_columns) + notes(report, wrap_columns) +
         "\n" + plans(report) + "\n" + searches(report, wrap_columns) +
         shared_policies(report, wrap_columns) + "\n" +
         wrapped(printable(conclusion(report)), wrap_columns, 0);
}

}  // namespace packsim
