#include "reports/planning/planning_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <utility>

#include "reports/planning/planning_front.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

constexpr std::size_t kShownReasons = 3;

std::string setting_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.6g}", *number);
  return "-";
}

std::string amount_text(const PlanningAmount& amount, const char* unit) {
  return quantity(amount.value) + unit + interval_note(amount.low.value_or(0), amount.high.value_or(0));
}

// "takes 0.63 h and 0.84 GPU-days, and costs 50.4 (90%: 42.2 to 60.2)"
std::string amounts_text(const PlanningPoint& point, CostKind cost) {
  std::string text = "takes " + amount_text(*point.hours, " h");
  if (cost == CostKind::gpu_days) return text + " and " + amount_text(*point.gpu_days, " GPU-days");
  return text + fmt::format(", {} GPU-days, and costs ", quantity(point.gpu_days->value)) +
         amount_text(*point.money, "");
}

std::string unfinished_text(const PlanningData& data) {
  const auto n = std::ranges::count(data.points, PointStanding::not_reached, &PlanningPoint::standing);
  if (n == 0) return "";
  return fmt::format("Not finished: {} point{} not reached in the time. ", grouped(n),
                     n == 1 ? " was" : "s were");
}

std::string best_text(const PlanningData& data) {
  const auto cheapest = cheapest_point(data);
  const auto fastest = fastest_point(data);
  const std::string limits = limits_text(data.limits);
  if (!cheapest)
    return "No point fits and trains the job that was asked for" +
           (limits.empty() ? "." : ", and keeps to " + limits + ".");
  const CostKind cost = cost_of(data);
  const auto sentence = [&](const std::string& what, std::size_t index) {
    return fmt::format("{} is {}: it {}.", what, point_text(data, index),
                       amounts_text(data.points[index], cost));
  };
  const std::string of = limits.empty() ? "" : " that keeps to " + limits;
  const char* least = cost == CostKind::money ? "The cheapest" : "The one with the fewest GPU-days";
  if (cheapest == fastest) return sentence("The cheapest and the fastest" + of, *cheapest);
  return sentence(least + of, *cheapest) + " " + sentence("The fastest", *fastest);
}

const char* plural_text(PointStanding standing) {
  if (standing == PointStanding::other_job) return "train another job";
  return standing == PointStanding::does_not_fit ? "do not fit in memory" : standing_text(standing);
}

std::string counts_of(const PlanningData& data) {
  std::map<PointStanding, std::size_t> counts;
  for (const PlanningPoint& point : data.points) ++counts[point.standing];
  std::string text;
  for (const auto& [standing, n] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(static_cast<std::int64_t>(n)),
                        n == 1 ? standing_text(standing) : plural_text(standing));
  return fmt::format("{} point{}: {}.", grouped(static_cast<std::int64_t>(data.points.size())),
                     data.points.size() == 1 ? "" : "s", text.empty() ? "none" : text);
}

std::string first_line_of(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Reasons differ in how many GiB are missing; these are one class.
std::string without_numbers(const std::string& text) {
  std::string without;
  for (const char c : text) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool goes_on = !without.empty() && without.back() == '#' && (c == '.' || c == ',' || c == 'K');
    if (!is_digit && !goes_on) without += c;
    if (is_digit && (without.empty() || without.back() != '#')) without += '#';
  }
  return without;
}

}  // namespace

std::string limits_text(const PlanningLimits& limits) {
  std::vector<std::string> texts;
  if (limits.hours) texts.push_back(quantity(*limits.hours) + " h");
  if (limits.money) texts.push_back(quantity(*limits.money) + " of money");
  if (limits.n_gpus) texts.push_back(fmt::format("{:.0f} GPUs", *limits.n_gpus));
  return texts.empty() ? "" : fmt::format("at most {} with 90% confidence", fmt::join(texts, " and "));
}

const char* standing_text(PointStanding standing) {
  static constexpr const char* kTexts[kNPointStandings] = {
      "compared", "trains another job", "does not fit in memory", "failed",
      "refused",  "not simulated",      "not reached in the time"};
  return kTexts[static_cast<std::size_t>(standing)];
}

std::vector<ReasonClass> reason_classes(const PlanningData& data) {
  std::map<std::pair<PointStanding, std::string>, std::size_t> index_of;
  std::vector<ReasonClass> classes;
  for (std::size_t i = 0; i < data.points.size(); ++i) {
    const PlanningPoint& point = data.points[i];
    if (point.standing == PointStanding::compared) continue;
    const std::string line = first_line_of(point.reason);
    const auto [found, is_new] =
        index_of.try_emplace({point.standing, without_numbers(line)}, classes.size());
    if (is_new) classes.push_back({.standing = point.standing, .example = line, .points = {}});
    classes[found->second].points.push_back(i);
  }
  std::ranges::stable_sort(classes, std::ranges::greater(),
                           [](const ReasonClass& one) { return one.points.size(); });
  return classes;
}

std::string point_text(const PlanningData& data, std::size_t index) {
  const PlanningPoint& point = data.points[index];
  std::string text = point.strategy.empty() ? "no strategy" : point.strategy;
  if (point.n_gpus) text += fmt::format(" on {:.0f} GPUs", *point.n_gpus);
  for (const PlanningColumn& column : data.settings)
    text += fmt::format(", {} {}", column.title, setting_text(column.values[index]));
  return text;
}

PlanningVerdict planning_verdict(const PlanningData& data) {
  PlanningVerdict verdict{
      .best = unfinished_text(data) + best_text(data), .counts = counts_of(data), .reasons = {}};
  const std::vector<ReasonClass> classes = reason_classes(data);
  for (std::size_t c = 0; c < std::min(kShownReasons, classes.size()); ++c) {
    const ReasonClass& one = classes[c];
    verdict.reasons.push_back(
        fmt::format("{} x {}{}{}", grouped(static_cast<std::int64_t>(one.points.size())),
                    standing_text(one.standing), one.example.empty() ? "" : ": ", one.example));
  }
  return verdict;
}

}  // namespace packsim
