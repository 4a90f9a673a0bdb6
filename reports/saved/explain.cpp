#include "reports/saved/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "files/text/printable.hpp"
#include "reports/tables/rounded_parts.hpp"
#include "reports/tables/time_parts.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

const SavedRun& run_with_times(const SavedReport& report, const std::string& name) {
  std::vector<std::string> names;
  for (const SavedRun& run : report.runs)
    if (run.has_time()) names.push_back(run.name);
  const SavedRun* const run = report.find(name);
  if (run == nullptr) {
    throw std::invalid_argument(fmt::format("{}: expected a run of the report, got \"{}\" ({})", report.path,
                                            name, suggest(name, names)));
  }
  if (run->has_time()) return *run;
  const std::string reason = run->failure     ? "failed: " + *run->failure
                             : !run->feasible ? "does not fit in memory"
                                              : "trains no iteration";
  throw std::invalid_argument(fmt::format("{}: expected a run that has a time ({}), got {}, which {}",
                                          report.path, fmt::join(names, ", "), name, reason));
}

// So that the larger of both has four digits.
int decimals_for(double gpu_days) {
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(gpu_days))), 0, 12);
}

void observe_ratio(Explanation& explanation, std::optional<double> SavedRun::*ratio, std::string_view what) {
  const std::optional<double> first = explanation.first->*ratio;
  const std::optional<double> second = explanation.second->*ratio;
  if (!first || !second || std::abs(*first - *second) < 0.005) return;
  explanation.observations.push_back(fmt::format("{}: {} in {}, {} in {}.", what,
                                                 formats_detail::ratio(*first), explanation.first->name,
                                                 formats_detail::ratio(*second), explanation.second->name));
}

void observe_count(Explanation& explanation, std::int64_t SavedRun::*count, std::string_view what,
                   double least_change) {
  const auto first = static_cast<double>(explanation.first->*count);
  const auto second = static_cast<double>(explanation.second->*count);
  if (std::abs(first - second) <= least_change * std::max(first, second)) return;
  explanation.observations.push_back(
      fmt::format("{}: {} in {}, {} in {}.", what, grouped(explanation.first->*count),
                  explanation.first->name, grouped(explanation.second->*count), explanation.second->name));
}

void observe_jobs(Explanation& explanation) {
  for (const SavedRun* run : {explanation.first, explanation.second}) {
    if (run->differences)
      explanation.observations.push_back(
          fmt::format("{} trains another job than the others: {}.", run->name, *run->differences));
  }
}

// A bar goes from one number of units to another.
struct Bar {
  std::int64_t from_units = 0;
  std::int64_t to_units = 0;
};

// The lines of a table with a bar beside each. The longest one fills what is left of the width.
std::string with_bars(const std::string& table, const std::vector<std::optional<Bar>>& bars,
                      std::int64_t most_units, int width_columns) {
  std::vector<std::string> lines;
  std::size_t table_columns = 0;
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1) {
    lines.push_back(table.substr(at, table.find('\n', at) - at));
    table_columns = std::max(table_columns, display_columns(lines.back()));
  }
  const double columns = std::max(10.0, width_columns - 2.0 - static_cast<double>(table_columns));
  const auto column = [&](std::int64_t units) {
    return static_cast<std::size_t>(static_cast<double>(units) / static_cast<double>(most_units) * columns);
  };
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i];
    if (bars[i]) {
      const auto [least, most] = std::minmax(bars[i]->from_units, bars[i]->to_units);
      const char drawn = least == 0 ? '=' : most == bars[i]->from_units ? '-' : '+';
      text += std::string(table_columns - display_columns(lines[i]) + 2 + column(least), ' ');
      text += std::string(column(most) - column(least), drawn);
      text.erase(text.find_last_not_of(' ') + 1);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

double Explanation::gpu_days(std::int64_t units) const {
  return static_cast<double>(units) / std::pow(10.0, decimals);
}

Explanation explain(const SavedReport& report, const std::string& first, const std::string& second) {
  return explain_runs(run_with_times(report, first), run_with_times(report, second));
}

Explanation explain_runs(const SavedRun& first, const SavedRun& second) {
  Explanation explanation{.first = &first, .second = &second};
  const SavedRun::Times& one = first.times.value();
  const SavedRun::Times& other = second.times.value();
  explanation.decimals = decimals_for(std::max(one.gpu_days, other.gpu_days));
  const double units_per_day = std::pow(10.0, explanation.decimals);
  const std::vector<std::int64_t> first_units =
      time_parts_in_units(one.shares, one.gpu_days, explanation.decimals);
  const std::vector<std::int64_t> second_units =
      time_parts_in_units(other.shares, other.gpu_days, explanation.decimals);
  explanation.first_units = std::llround(one.gpu_days * units_per_day);
  explanation.second_units = std::llround(other.gpu_days * units_per_day);
  for (std::size_t i = 0; i < time_parts().size(); ++i) {
    if (first_units[i] != 0 || second_units[i] != 0)
      explanation.parts.push_back({time_parts()[i].name, first_units[i], second_units[i]});
  }
  std::ranges::stable_sort(explanation.parts, std::ranges::greater(),
                           [](const ExplainedPart& part) { return std::abs(part.change_units()); });
  observe_jobs(explanation);
  observe_ratio(explanation, &SavedRun::abr, "Attention time in which DP ranks wait (ABR)");
  observe_ratio(explanation, &SavedRun::cr, "Share of tokens in packs that several GPUs share (CR)");
  observe_ratio(explanation, &SavedRun::pr, "Padding among the computed tokens (PR)");
  observe_count(explanation, &SavedRun::packs, "Packs of an epoch", 0.01);
  observe_count(explanation, &SavedRun::iterations, "Iterations", 0.005);
  observe_count(explanation, &SavedRun::trained_tokens, "Trained tokens", 0.0005);
  return explanation;
}

std::string explanation_text(const Explanation& explanation, int width_columns) {
  const std::string& first = explanation.first->name;
  const std::string& second = explanation.second->name;
  const std::int64_t change_units = explanation.second_units - explanation.first_units;
  const auto number = [&](std::int64_t units) {
    return fmt::format("{:.{}f}", explanation.gpu_days(units), explanation.decimals);
  };
  const auto change = [&](std::int64_t units) { return (units > 0 ? "+" : "") + number(units); };
  const std::string headline =
      change_units == 0
          ? fmt::format("{} takes as long as {}: {} GPU-days.", second, first,
                        number(explanation.first_units))
          : fmt::format(
                "{} takes {} GPU-days: {} {} ({:+.1f}%) than {}.", second, number(explanation.second_units),
                number(std::abs(change_units)), change_units < 0 ? "fewer" : "more",
                100.0 * static_cast<double>(change_units) / static_cast<double>(explanation.first_units),
                first);
  std::vector<std::vector<std::string>> rows = {{"GPU-days", "first", "second", "change"},
                                                {printable_name(first), number(explanation.first_units)}};
  std::int64_t level_units = explanation.first_units;
  std::vector<std::optional<Bar>> bars = {std::nullopt, Bar{0, level_units}};
  std::int64_t most_units = level_units;
  for (const ExplainedPart& part : explanation.parts) {
    rows.push_back({"  " + std::string(part.name), number(part.first_units), number(part.second_units),
                    change(part.change_units())});
    bars.push_back(Bar{level_units, level_units + part.change_units()});
    level_units += part.change_units();
    most_units = std::max(most_units, level_units);
  }
  rows.push_back({printable_name(second), "", number(explanation.second_units), change(change_units)});
  bars.push_back(Bar{0, explanation.second_units});
  std::string text = wrapped(printable(headline), width_columns, 0) + "\n" +
                     with_bars(text_table(rows), bars, most_units, width_columns);
  if (!explanation.observations.empty()) text += "\n";
  for (const std::string& observation : explanation.observations)
    text += wrapped(printable(observation), width_columns, 2);
  return text;
}

std::string explanation_json(const Explanation& explanation) {
  const auto gpu_days = [&](std::int64_t units) { return explanation.gpu_days(units); };
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const ExplainedPart& part : explanation.parts) {
    parts.push_back({{"part", part.name},
                     {"first_gpu_days", gpu_days(part.first_units)},
                     {"second_gpu_days", gpu_days(part.second_units)},
                     {"change_gpu_days", gpu_days(part.change_units())}});
  }
  const nlohmann::ordered_json json = {
      {"first", explanation.first->name},
      {"second", explanation.second->name},
      {"first_gpu_days", gpu_days(explanation.first_units)},
      {"second_gpu_days", gpu_days(explanation.second_units)},
      {"change_gpu_days", gpu_days(explanation.second_units - explanation.first_units)},
      {"parts", parts},
      {"observations", explanation.observations}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace packsim
