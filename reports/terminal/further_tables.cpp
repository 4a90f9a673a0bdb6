#include "reports/terminal/further_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "files/text/printable.hpp"
#include "models/plan/plan_text.hpp"
#include "reports/tables/bound_rows.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/loss_rows.hpp"
#include "reports/tables/mixture_rows.hpp"
#include "reports/tables/search_rows.hpp"
#include "reports/tables/shown_groups.hpp"
#include "reports/text/gpu_text.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/reliability_text.hpp"
#include "reports/text/text_table.hpp"
#include "reports/text/texts_by_run.hpp"

namespace packsim::formats_detail {
namespace {

constexpr int kJobLabel_columns = 12;

std::string job_line(std::string_view label, std::string_view text, int width_columns) {
  return wrapped(fmt::format("{:<{}}{}", label, kJobLabel_columns, printable(text)), width_columns,
                 kJobLabel_columns);
}

// A table whose rows begin with names, and what it means; empty without rows.
std::string noted_table(std::vector<std::vector<std::string>> rows, std::string_view note,
                        int width_columns) {
  if (rows.empty()) return "";
  for (std::vector<std::string>& row : rows) row.front() = printable_name(row.front());
  return text_table(rows) + wrapped(note, width_columns, 0) + "\n";
}

// One row per group; the lines under a run's first one leave its name out.
std::string plans(const Report& report) {
  std::vector<std::vector<std::string>> rows = {{"plan", "capacity", "SP", "GC layers", "ZeRO", "DP ranks",
                                                 "micro-batches", "packs", "iterations", "peak of GPU memory",
                                                 ""}};
  for (const StrategyResult& run : report.runs) {
    bool is_first = true;
    for (const auto& [group, gc_layers, capacity] : shown_groups(run)) {
      rows.push_back({std::exchange(is_first, false) ? printable_name(run.name) : "", capacity,
                      sequence_text(group.sequence), gc_layers, fmt::format("{}", group.zero_stage),
                      fmt::format("{}", group.n_dp_ranks), micro_batches_text(group.micro_batches_per_rank),
                      grouped(group.packs), grouped(group.iterations), memory_text(group),
                      group.feasible ? "" : "OOM"});
    }
  }
  return text_table(rows);
}

// The policies, each combination once with the runs that share it.
std::string shared_policies(const Report& report, int width_columns) {
  std::string text;
  for (const auto& [policy, runs] : texts_by_run(report, policies))
    text += wrapped(runs + ": " + policy, width_columns, 2);
  return text;
}

// The main reasons why intervals are wide, each once with the runs that it concerns.
std::string interval_reasons(const Report& report, int width_columns) {
  const auto reason_of = [](const StrategyResult& run) {
    return run.times ? run.times->largest_uncertainty.value_or("") : "";
  };
  std::string text;
  for (const auto& [reason, runs] : texts_by_run(report, reason_of))
    text += wrapped(fmt::format("Most of the 90% interval of {} comes from this: {}.", runs, reason),
                    width_columns, 2);
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::string job_text(const Report& report, int width_columns) {
  const RunManifest& manifest = report.manifest;
  const LengthSummary& lengths = report.lengths;
  std::string text;
  const auto line = [&](std::string_view label, std::string_view value) {
    text += job_line(label, value, width_columns);
  };
  if (!manifest.scenario_description.empty()) {
    text += wrapped(printable(manifest.scenario_description), width_columns, 0) + "\n";
  }
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
  if (manifest.beside_steps) line("beside steps", beside_steps_text(*manifest.beside_steps));
  if (manifest.failures) line("failures", failures_text(*manifest.failures));
  return text;
}

namespace {

// The columns that are named are left out, one after another, until the table fits.
std::string fitting_rows(std::vector<std::vector<std::string>> rows,
                         std::span<const std::string_view> droppable, int width_columns) {
  if (rows.empty()) return "";
  for (std::vector<std::string>& row : rows) row.front() = printable_name(row.front());
  std::vector<std::string> lines = table_lines(rows);
  for (const std::string_view title : droppable) {
    if (lines.front().size() <= static_cast<std::size_t>(width_columns)) break;
    const auto at = std::ranges::find(rows.front(), title) - rows.front().begin();
    if (at == std::ssize(rows.front())) continue;
    for (std::vector<std::string>& row : rows) row.erase(row.begin() + at);
    lines = table_lines(rows);
  }
  return fmt::format("\n{}\n", fmt::join(lines, "\n"));
}

}  // namespace

std::string mixture_text(const Report& report, int width_columns, bool with_groups) {
  if (!report.mixture) return "";
  constexpr std::array<std::string_view, 5> kOfArms = {"mean tokens", "samples", "never drawn", "group",
                                                       "draws"};
  constexpr std::array<std::string_view, 8> kOfRuns = {
      "windows", "plan for", "draws carried", "training", "fill", "packs of", "rewards", "rewards' share"};
  constexpr std::array<std::string_view, 4> kOfProbes = {"hidden", "fwd+bwd", "forward", "rewards"};
  std::string text;
  for (const std::string& sentence : mixture_sentences(*report.mixture))
    text += wrapped(printable(sentence), width_columns, 2);
  text += fitting_rows(mixture_arm_rows(report, with_groups), kOfArms, width_columns);
  if (const auto rows = mixture_run_rows(report); !rows.empty())
    text += fitting_rows(rows, kOfRuns, width_columns) + wrapped(kMixtureRunNote, width_columns, 2);
  if (const auto rows = probe_rows(report); !rows.empty())
    text += fitting_rows(rows, kOfProbes, width_columns) + wrapped(kProbeNote, width_columns, 2);
  return text + "\n";
}

std::string further_tables(const Report& report, int width_columns) {
  return plans(report) + "\n" + interval_reasons(report, width_columns) +
         noted_table(bound_rows(report), kBoundNote, width_columns) +
         noted_table(search_rows(report), kSearchNote, width_columns) +
         noted_table(loss_rows(report), kLossNote, width_columns) + shared_policies(report, width_columns) +
         "\n";
}

}  // namespace packsim::formats_detail
