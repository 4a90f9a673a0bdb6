#include "sweep/sweep_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "files/text/printable.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"
#include "sweep/point_columns.hpp"

namespace packsim {
namespace {

using namespace formats_detail;
using Row = std::vector<Value>;

constexpr int kShownPoints = 10;
constexpr std::size_t kWidestCell = 24;

// Of the whole run, as far as the scenario says what it takes beside its steps.
constexpr std::string_view kGpuDays = "COALESCE(gpu_days_with_failures, whole_gpu_days, gpu_days)";
constexpr std::string_view kCost = "COALESCE(cost_with_failures, cost)";

std::string value_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return shortened(printable_name(*text), kWidestCell);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    constexpr std::int64_t kLong = 10'000'000;  // link rates, not counts
    return *integer < kLong ? fmt::format("{}", *integer)
                            : fmt::format("{:.6g}", static_cast<double>(*integer));
  }
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.6g}", *number);
  return "-";
}

std::string quantity_text(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? quantity(*number) : "-";
}

std::string half_width_text(const Value& low, const Value& high) {
  const auto* low_value = std::get_if<double>(&low);
  const auto* high_value = std::get_if<double>(&high);
  if (low_value == nullptr || high_value == nullptr || *low_value <= 0) return "-";
  return fmt::format("{:.0f}%", 100 * (std::sqrt(*high_value / *low_value) - 1));
}

std::int64_t count_of(SweepDatabase& database, const std::string& condition) {
  return std::get<std::int64_t>(
      database.select("SELECT count(*) FROM points WHERE " + condition).front().front());
}

// How many points there are of each kind, the good ones first.
std::string counts_text(SweepDatabase& database) {
  const std::pair<std::string, std::string> kinds[] = {
      {"comparable", fmt::format("status = '{}' AND differences IS NULL", kSimulated)},
      {"not comparable (column differences)",
       fmt::format("status = '{}' AND differences IS NOT NULL", kSimulated)},
      {"that do not fit in memory", fmt::format("status = '{}'", kDoesNotFit)},
      {"that failed", fmt::format("status = '{}'", kFailed)},
      {"with a scenario that was refused", fmt::format("status = '{}'", kRefused)}};
  std::string text;
  for (const auto& [what, condition] : kinds) {
    const std::int64_t n = count_of(database, condition);
    if (n > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(n), what);
  }
  return text.empty() ? "None." : text + ".";
}

// Keeps the first of a scenario's mistakes, which are one a line.
std::string first_line(const std::string& reason) {
  const std::size_t end = reason.find('\n');
  const auto n_more = std::ranges::count(reason, '\n');
  return printable(reason.substr(0, end)) + (n_more > 0 ? fmt::format(" (and {} more)", n_more) : "");
}

// The first reasons of points that were refused or failed.
std::string reasons_text(SweepDatabase& database, int width_columns) {
  const auto rows =
      database.select(fmt::format("SELECT reason, count(*), min(point) FROM points WHERE status IN ('{}', "
                                  "'{}') GROUP BY reason ORDER BY 2 DESC, 3 LIMIT 3",
                                  kRefused, kFailed));
  std::string text;
  for (const Row& row : rows) {
    text += wrapped(
        fmt::format("  {} x {}", std::get<std::int64_t>(row[1]), first_line(std::get<std::string>(row[0]))),
        width_columns, 4);
  }
  return text;
}

using Cells = std::vector<std::vector<std::string>>;

std::vector<std::size_t> column_widths(const Cells& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_columns(row[c]));
  }
  return widths;
}

std::size_t table_width(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
}

// Leaves out columns in the order of `less_needed` until the others fit. If these are still too wide, the
// widest of them are shortened.
Cells fitting(Cells rows, std::vector<std::size_t> less_needed, std::size_t width_columns) {
  std::vector<std::size_t> widths = column_widths(rows);
  for (std::size_t i = 0; i < less_needed.size() && table_width(widths) > width_columns; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(less_needed[i]);
    widths.erase(widths.begin() + at);
    for (std::vector<std::string>& row : rows) row.erase(row.begin() + at);
    for (std::size_t& column : less_needed) column -= column > less_needed[i] ? 1 : 0;
  }
  constexpr std::size_t kNarrowest = 4;
  for (auto widest = std::ranges::max_element(widths);
       table_width(widths) > width_columns && *widest > kNarrowest;
       widest = std::ranges::max_element(widths)) {
    --*widest;
  }
  for (std::vector<std::string>& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = shortened(row[c], widths[c]);
  }
  return rows;
}

struct BestPoints {
  bool are_by_cost = false;
  std::vector<std::string> lines;  // of the table; none where no point can be compared
};

// By cost where each point that can be compared has one.
BestPoints best_points(SweepDatabase& database, const Grid& grid, int width_columns) {
  // A run that failures never let finish has no GPU-days with them.
  const std::string comparable = fmt::format(
      "status = '{}' AND differences IS NULL AND (effective_fraction IS NULL OR gpu_days_with_failures IS "
      "NOT NULL)",
      kSimulated);
  const bool has_cost = count_of(database, "cost IS NOT NULL") > 0;
  BestPoints best;
  best.are_by_cost = has_cost && count_of(database, comparable + " AND cost IS NULL") == 0;
  std::string sql = fmt::format(
      "SELECT point, name, {}, COALESCE(whole_gpu_days_low, gpu_days_low), COALESCE(whole_gpu_days_high, "
      "gpu_days_high), COALESCE(wall_hours_with_failures, whole_wall_hours, wall_hours), {}",
      kGpuDays, kCost);
  std::vector<std::string> titles = {"point", "name", "GPU-days", "90%", "wall h"};
  std::vector<std::size_t> less_needed = {3, 4};
  if (best.are_by_cost) less_needed.push_back(2);
  if (has_cost) titles.emplace_back("cost");
  if (has_cost && !best.are_by_cost) less_needed.push_back(5);
  std::vector<std::string> keys = varied_keys(grid);
  std::erase(keys, kStrategyKey);
  for (const std::string& key : keys) sql += ", " + quoted_name(key);
  for (const std::string& title : short_keys(keys))
    titles.push_back(shortened(printable_name(title), kWidestCell));
  sql += fmt::format(" FROM points WHERE {} ORDER BY {}, point LIMIT {}", comparable,
                     best.are_by_cost ? kCost : kGpuDays, kShownPoints);
  Cells rows = {titles};
  for (const Row& row : database.select(sql)) {
    std::vector<std::string>& cells = rows.emplace_back();
    cells = {value_text(row[0]), value_text(row[1]), quantity_text(row[2]), half_width_text(row[3], row[4]),
             quantity_text(row[5])};
    if (has_cost) cells.push_back(quantity_text(row[6]));
    for (std::size_t c = 7; c < row.size(); ++c) cells.push_back(value_text(row[c]));
  }
  if (rows.size() > 1)
    best.lines = table_lines(
        fitting(std::move(rows), std::move(less_needed), static_cast<std::size_t>(width_columns)));
  return best;
}

}  // namespace

std::string sweep_summary(SweepDatabase& database, const Grid& grid, int width_columns) {
  const std::int64_t n_points = count_of(database, "1");
  std::string text =
      wrapped(fmt::format("{} points: {}", grouped(n_points), counts_text(database)), width_columns, 2);
  text += reasons_text(database, width_columns);
  const auto [are_by_cost, lines] = best_points(database, grid, width_columns);
  if (!lines.empty()) text += are_by_cost ? "\nThe lowest cost:\n" : "\nThe fewest GPU-days:\n";
  std::vector<std::string> of_job;
  std::ranges::copy_if(varied_keys(grid), std::back_inserter(of_job), decides_job);
  if (!lines.empty() && !of_job.empty())
    text += wrapped(fmt::format("Points with another {} train another job: compare those with the same.",
                                fmt::join(of_job, ", ")),
                    width_columns, 2);
  for (const std::string& line : lines)
    text += shortened(line, static_cast<std::size_t>(width_columns)) + "\n";
  return text;
}

}  // namespace packsim
