#include "validation/validation_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/text/text_table.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

using nlohmann::ordered_json;

std::string quantity_text(double value, const std::string& unit) {
  if (std::isnan(value)) return "-";
  return unit == "layers" ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string error_text(const ValidationRow& row) {
  if (std::isnan(row.error)) return "-";
  if (!row.error_is_difference) return fmt::format("{:+.1f} %", 100 * row.error);
  return row.unit == "layers" ? fmt::format("{:+.0f}", row.error) : fmt::format("{:+.3f}", row.error);
}

std::string tolerance_text(const ValidationRow& row) {
  if (!row.tolerance) return "-";
  if (!row.error_is_difference) return fmt::format("{:.1f} %", 100 * *row.tolerance);
  return row.unit == "layers" ? fmt::format("{:.0f}", *row.tolerance) : fmt::format("{:.3f}", *row.tolerance);
}

const char* basis_text(const ValidationRow& row) {
  return row.is_fitted ? "fitted" : "predicted";
}

bool has_intervals(const ValidationSet& set) {
  return std::ranges::any_of(set.rows, [](const ValidationRow& row) { return row.interval.has_value(); });
}

std::string interval_text(const ValidationRow& row) {
  if (!row.interval) return "-";
  return fmt::format("{:.4g} to {:.4g}{}", row.interval->low, row.interval->high,
                     row.interval->holds(row.published) ? "" : ", outside");
}

// How many of the published numbers lie in our intervals.
std::string coverage_text(const ValidationSet& set) {
  int n_rows = 0;
  int n_held = 0;
  for (const ValidationRow& row : set.rows) {
    if (!row.interval) continue;
    ++n_rows;
    if (row.interval->holds(row.published)) ++n_held;
  }
  return n_rows == 0 ? "" : fmt::format("; {} of {} in the 90 % interval", n_held, n_rows);
}

bool has_beside(const ValidationSet& set) {
  return std::ranges::any_of(set.rows, [](const ValidationRow& row) { return !row.beside.empty(); });
}

std::vector<std::string> header(const ValidationSet& set) {
  std::vector<std::string> cells = {"row",   "unit",      "published", "here",
                                    "error", "tolerance", "basis",     "outcome"};
  if (has_intervals(set)) cells.emplace_back("90 % interval");
  if (has_beside(set)) cells.emplace_back("beside: here (published)");
  return cells;
}

std::vector<std::string> cells_of(const ValidationSet& set, const ValidationRow& row) {
  std::vector<std::string> cells = {row.name,
                                    row.unit,
                                    quantity_text(row.published, row.unit),
                                    quantity_text(row.predicted, row.unit),
                                    error_text(row),
                                    tolerance_text(row),
                                    basis_text(row),
                                    outcome_name(row.outcome)};
  if (has_intervals(set)) cells.push_back(interval_text(row));
  if (has_beside(set)) cells.push_back(row.beside);
  return cells;
}

std::string markdown_line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string notes_of(const ValidationSet& set, std::string_view start) {
  std::string text;
  for (const ValidationRow& row : set.rows) {
    if (!row.note.empty()) text += fmt::format("{}{}: {}\n", start, row.name, row.note);
  }
  return text;
}

std::string summary_markdown(std::span<const ValidationSet> sets) {
  std::string text = "| set | result |\n|---|---|\n";
  for (const ValidationSet& set : sets) text += markdown_line({set.title, set_summary(set)});
  return text;
}

// The tables for a marked part of a page; empty if the sets needed for it are not among these.
std::string tables_named(const std::string& name, std::span<const ValidationSet> sets) {
  const std::vector<std::string> known = validation_set_names();
  if (name == "summary") return sets.size() == known.size() ? summary_markdown(sets) : "";
  if (std::ranges::find(known, name) == known.end())
    throw std::invalid_argument(
        fmt::format("{}{} -->: expected summary or one of {}", kTablesBegin, name, fmt::join(known, ", ")));
  const auto set = std::ranges::find(sets, name, &ValidationSet::name);
  return set == sets.end() ? "" : set_markdown(*set);
}

ordered_json number(double value) {
  return std::isnan(value) ? ordered_json(nullptr) : ordered_json(value);
}

ordered_json row_json(const ValidationRow& row) {
  ordered_json json = {{"name", row.name},
                       {"unit", row.unit},
                       {"published", number(row.published)},
                       {"predicted", number(row.predicted)},
                       {"error", number(row.error)},
                       {"tolerance", row.tolerance ? ordered_json(*row.tolerance) : ordered_json(nullptr)},
                       {"basis", basis_text(row)},
                       {"outcome", outcome_name(row.outcome)}};
  if (row.interval) json["interval"] = {{"low", row.interval->low}, {"high", row.interval->high}};
  if (!row.beside.empty()) json["beside"] = row.beside;
  if (!row.note.empty()) json["note"] = row.note;
  return json;
}

}  // namespace

std::string set_summary(const ValidationSet& set) {
  const auto count = [&](Outcome outcome) {
    return std::ranges::count(set.rows, outcome, &ValidationRow::outcome);
  };
  std::string text = fmt::format("{} row{}", set.rows.size(), set.rows.size() == 1 ? "" : "s");
  for (const Outcome outcome : {Outcome::met, Outcome::missed, Outcome::refused}) {
    if (count(outcome) > 0) text += fmt::format(", {} {}", count(outcome), outcome_name(outcome));
  }
  if (set.bounds.empty() && !set.rows.empty() && !set.rows.front().error_is_difference)
    text += fmt::format("; mean error {:.1f} %, median {:.1f} %, worst {:.1f} %", 100 * mean_error(set.rows),
                        100 * error_quantile(set.rows, 0.5), 100 * worst_error(set.rows));
  text += coverage_text(set);
  for (const ValidationBound& bound : set.bounds)
    text += fmt::format("; {} {:.2f} % of {:.1f} %: {}", bound.what, 100 * bound.value, 100 * bound.bound,
                        bound.is_met() ? "met" : "missed");
  return text;
}

std::string validation_text(std::span<const ValidationSet> sets) {
  std::string text;
  for (const ValidationSet& set : sets) {
    text += fmt::format("{} ({})\n{}\n\n", set.title, set.name, formats_detail::wrapped(set.about, 110, 0));
    std::vector<std::vector<std::string>> rows = {header(set)};
    for (const ValidationRow& row : set.rows) rows.push_back(cells_of(set, row));
    text += formats_detail::text_table(rows) + notes_of(set, "  ") + "\n";
  }
  for (const ValidationSet& set : sets) text += fmt::format("{}: {}\n", set.name, set_summary(set));
  return text;
}

std::string set_markdown(const ValidationSet& set) {
  std::string text = fmt::format("## {}\n\n{}.\n\n", set.title, set.about);
  const std::vector<std::string> head = header(set);
  text += markdown_line(head) +
          fmt::format("|{}\n", fmt::join(std::vector<std::string>(head.size(), "---|"), ""));
  for (const ValidationRow& row : set.rows) text += markdown_line(cells_of(set, row));
  const std::string notes = notes_of(set, "- ");
  return notes.empty() ? text : text + "\n" + notes;
}

std::string validation_json(std::span<const ValidationSet> sets) {
  ordered_json all = ordered_json::array();
  for (const ValidationSet& set : sets) {
    ordered_json rows = ordered_json::array();
    for (const ValidationRow& row : set.rows) rows.push_back(row_json(row));
    ordered_json bounds = ordered_json::array();
    for (const ValidationBound& bound : set.bounds) {
      bounds.push_back(
          {{"what", bound.what}, {"value", bound.value}, {"bound", bound.bound}, {"met", bound.is_met()}});
    }
    all.push_back(
        {{"name", set.name}, {"title", set.title}, {"about", set.about}, {"bounds", bounds}, {"rows", rows}});
  }
  return ordered_json({{"format", 1}, {"sets", all}}).dump(1) + "\n";
}

std::string with_tables(const std::string& page, std::span<const ValidationSet> sets) {
  const std::string_view begin_line = kTablesBegin;
  const std::string_view name_end = " -->";
  std::string text;
  std::size_t done = 0;
  for (std::size_t begin; (begin = page.find(begin_line, done)) != std::string::npos;) {
    const std::size_t name_at = begin + begin_line.size();
    const std::size_t tables_at = std::min(page.find(name_end, name_at), page.size());
    const std::string name = page.substr(name_at, tables_at - name_at);
    const std::size_t end = page.find(kTablesEnd, tables_at);
    if (end == std::string::npos || page.find(begin_line, name_at) < end)
      throw std::invalid_argument(
          fmt::format("{}{}{}: expected the line {}", begin_line, name, name_end, kTablesEnd));
    text += page.substr(done, begin - done);
    const std::string tables = tables_named(name, sets);
    text += tables.empty() ? page.substr(begin, end - begin)
                           : fmt::format("{}{}{}\n\n{}\n", begin_line, name, name_end, tables);
    done = end;
  }
  return text + page.substr(done);
}

}  // namespace packsim
