#include "reports/formats/html_summary.hpp"

#include <fmt/format.h>

#include <cctype>

#include "models/plan/plan_text.hpp"
#include "reports/files/embedded.hpp"
#include "reports/formats/html_table.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/definitions.hpp"
#include "reports/text/escape.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/reliability_text.hpp"
#include "reports/verdict/verdict.hpp"

namespace packsim::formats_detail {
namespace {

// What a scenario may have at most on the page; it is in its file as a whole.
constexpr std::size_t kMostScenarioBytes = 64 * 1024;

std::string card(std::string_view title, std::string_view defined_as, std::string_view value,
                 const std::vector<std::string>& notes) {
  std::string lines;
  for (const std::string& note : notes)
    if (!note.empty()) lines += fmt::format("<span>{}</span>", html_escaped(note));
  return fmt::format(
      "<div class=\"card\"><span class=\"term\"{}>{}</span><b>{}</b>{}</div>\n",
      defined_as.empty() ? "" : fmt::format(" data-definition=\"{}\"", definition_id(defined_as)), title,
      html_escaped(value), lines);
}

std::string interval_text(const VerdictAmount& amount) {
  return amount.low && amount.high
             ? fmt::format("90%: {} to {}", quantity(*amount.low), quantity(*amount.high))
             : "";
}

std::string speedup_interval(const StrategyResult& winner) {
  const TimeRatio& speedup = *winner.speedup;
  return speedup.is_known() ? interval_text({speedup.value, speedup.low, speedup.high}) : "";
}

// The winner's key numbers, each with its interval and beside the baseline's.
std::string cards(const Report& report, const Verdict& verdict) {
  const StrategyResult* winner = fastest_run(report);
  if (winner == nullptr) return "";
  const StrategyResult* baseline = baseline_run(report);
  const bool compares = baseline != nullptr && baseline != winner;
  const bool has_times = compares && has_time(*baseline);
  const auto beside = [&](bool is_there, const auto& text_of) {
    return is_there ? fmt::format("{}: {}", baseline->name, text_of(*baseline)) : std::string();
  };
  std::string text;
  if (has_times && baseline->differences.empty()) {
    text += card("Speed-up over the baseline", "speed-up", fmt::format("{:.2f}x", winner->speedup->value),
                 {speedup_interval(*winner), fmt::format("{} over {}", winner->name, baseline->name)});
  } else {
    text += card("Fastest run", "", winner->name, {});
  }
  const auto gpu_days = [](const StrategyResult& run) { return quantity(run.times->gpu_days); };
  text += card("GPU-days", "GPU-days", gpu_days(*winner),
               {interval_text(*verdict.gpu_days), beside(has_times, gpu_days)});
  if (verdict.money) {
    const auto money = [](const StrategyResult& run) {
      return run.cost && run.cost->money ? quantity(*run.cost->money) : std::string("-");
    };
    text += card("Cost", "cost", money(*winner), {interval_text(*verdict.money), beside(has_times, money)});
  }
  const auto wall = [](const StrategyResult& run) { return quantity(run.times->wall_hours) + " h"; };
  text += card("Wall time", "wall", wall(*winner), {beside(has_times, wall)});
  if (verdict.mfu_fraction) {
    const auto mfu = [](const StrategyResult& run) {
      const std::optional<double>& fraction = run.times->utilisation.mfu_fraction;
      return fraction ? percent(*fraction) : std::string("-");
    };
    text += card("MFU", "MFU", mfu(*winner), {beside(has_times, mfu)});
  }
  const auto idle = [](const StrategyResult& run) { return percent(run.times->shares.idle); };
  text += card("GPU time idle", "idle", idle(*winner), {beside(has_times, idle)});
  const auto untrained = [](const StrategyResult& run) {
    return token_count(run.counts.dropped_tokens + run.counts.truncated_tokens);
  };
  text += card("Tokens dropped or cut off", "", untrained(*winner), {beside(compares, untrained)});
  return fmt::format("<div class=\"cards\">\n{}</div>\n", text);
}

std::string doubts(const Verdict& verdict) {
  std::string items;
  for (const std::string& doubt : verdict.doubts) items += fmt::format("<li>{}</li>\n", html_escaped(doubt));
  if (!verdict.not_compared.empty())
    items += fmt::format("<li>{}</li>\n", html_escaped(verdict.not_compared));
  if (items.empty()) return "";
  return fmt::format("<h2>What could change this</h2>\n<ul class=\"doubts\">\n{}</ul>\n", items);
}

std::string settings(const Verdict& verdict) {
  const std::vector<std::vector<std::string>> rows = setting_rows(verdict);
  if (rows.empty()) return "";
  HtmlTable table = table_of_rows("What to set for each group of packs", rows);
  table.style = "plain";
  std::string sentence = verdict.settings;
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return fmt::format("<h2>What to set</h2>\n<p>{}</p>\n", html_escaped(sentence)) + html(table);
}

std::string scenario_text(const std::string& text) {
  if (text.empty()) return "";
  std::string shown = text.substr(0, kMostScenarioBytes);
  if (shown.size() < text.size())
    shown += fmt::format("\n... and {} bytes more, which are in the file", text.size() - shown.size());
  return fmt::format(
      "<details class=\"scenario\"><summary>The scenario as it was run</summary>\n"
      "<pre tabindex=\"0\" id=\"scenario-text\">{}</pre></details>\n",
      html_escaped(shown));
}

}  // namespace

std::string html_item(std::string_view term, std::string_view escaped_text) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", term, escaped_text);
}

std::string html_facts(const Report& report) {
  const RunManifest& manifest = report.manifest;
  const LengthSummary& lengths = report.lengths;
  std::string items;
  items += html_item("Model", html_escaped(manifest.model));
  items += html_item("Cluster", html_escaped(cluster_text(manifest)));
  items += html_item("Data set", fmt::format("{} samples, {} tokens", grouped(lengths.n_samples),
                                             token_count(lengths.n_tokens)));
  items += html_item("Sample length, tokens",
                     fmt::format("median {}, mean {}, p99 {}, longest {}", grouped(lengths.median_tokens),
                                 quantity(lengths.mean_tokens), grouped(lengths.p99_tokens),
                                 grouped(lengths.longest_tokens)));
  items += html_item("Training",
                     fmt::format("{} tokens per iteration, {} {}", grouped(manifest.tokens_per_iteration),
                                 manifest.epochs, manifest.epochs == 1 ? "epoch" : "epochs"));
  // What to set is said by the best run: its plan is another one than the scenario's where it was searched.
  if (fastest_run(report) == nullptr) items += html_item("Parallel plan", plan_text(manifest.plan));
  if (!manifest.trainer.empty()) items += html_item("Trainer", html_escaped(manifest.trainer));
  items += html_item("Cost profile", html_escaped(manifest.profile));
  if (manifest.variability.any()) items += html_item("Variability", variability_text(manifest.variability));
  if (manifest.beside_steps) items += html_item("Beside steps", beside_steps_text(*manifest.beside_steps));
  if (manifest.failures) items += html_item("Failures", failures_text(*manifest.failures));
  return fmt::format("<dl class=\"facts\">\n{}</dl>\n", items);
}

std::string html_warnings(const RunManifest& manifest) {
  if (manifest.warnings.empty()) return "";
  std::string items;
  for (const std::string& warning : manifest.warnings)
    items += fmt::format("<li>{}</li>\n", html_escaped(warning));
  return fmt::format("<div class=\"warnings\"><b>Before you believe the numbers</b><ul>\n{}</ul></div>\n",
                     items);
}

std::string html_verdict(const Report& report) {
  const Verdict verdict = packsim::verdict(report);
  const std::string headline = (verdict.best.empty() ? "" : "Best plan: ") + html_escaped(verdict.headline);
  std::string text = verdict.decision.empty() ? fmt::format("<p class=\"conclusion\">{}</p>\n", headline)
                                              : fmt::format("<p class=\"conclusion\">{}</p>\n<p>{}</p>\n",
                                                            html_escaped(verdict.decision), headline);
  for (const std::string& sentence : {verdict.cost, verdict.why}) {
    if (!sentence.empty()) text += fmt::format("<p>{}</p>\n", html_escaped(sentence));
  }
  return text + cards(report, verdict) + settings(verdict) + doubts(verdict);
}

std::string html_provenance(const Report& report) {
  const RunManifest& manifest = report.manifest;
  const auto with_hash = [](std::string_view name, std::string_view hash) {
    return fmt::format("{} <code>{}</code>", html_escaped(name), html_escaped(hash));
  };
  std::string items = html_item("packsim", html_escaped(manifest.version));
  items += html_item("Command", fmt::format("<code>{}</code>", html_escaped(manifest.command)));
  items += html_item("Scenario", with_hash(manifest.scenario, manifest.scenario_hash));
  items += html_item("Profile", with_hash(manifest.profile, manifest.profile_hash));
  items += html_item("Profile source", html_escaped(manifest.profile_source));
  items += html_item("Hardware profile", with_hash(manifest.hardware, manifest.hardware_hash));
  items += html_item("Level of detail", html_escaped(manifest.level));
  items += html_item("Seed", fmt::format("{}", manifest.seed));
  for (const LengthSummary::Source& source : report.lengths.sources) {
    items += html_item("Lengths", fmt::format("{}<br>{} samples, {} tokens, {} samples drawn more than once",
                                              with_hash(source.name, source.hash), grouped(source.n_samples),
                                              grouped(source.n_tokens), grouped(source.repeated_samples)));
  }
  items += html_item("Charts", embedded_file("vega_versions.txt"));
  return fmt::format(
             "<p><button type=\"button\" class=\"copy\" data-copies=\"provenance\">Copy all of this</button> "
             "<span class=\"copied\" role=\"status\"></span></p>\n"
             "<dl class=\"details\" id=\"provenance\">\n{}</dl>\n",
             items) +
         scenario_text(manifest.scenario_text);
}

}  // namespace packsim::formats_detail
