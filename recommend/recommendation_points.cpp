#include "recommend/recommendation_points.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "recommend/candidate.hpp"
#include "reports/text/numbers.hpp"
#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/json/json_text.hpp"

namespace packsim {
namespace {

// A member of a JSON file, with its place for messages.
class SavedJson {
 public:
  SavedJson(const Json& value, std::string place, bool is_root = false)
      : value_(&value), place_(std::move(place)), is_root_(is_root) {}

  [[noreturn]] void refuse(const std::string& expected) const {
    throw std::invalid_argument(
        fmt::format("{}: expected {}, got {}", place_, expected, value_->type_name()));
  }
  bool is_null() const { return value_->is_null(); }
  SavedJson at(const std::string& key) const {
    if (!value_->is_object()) refuse("an object");
    const auto found = value_->find(key);
    if (found == value_->end())
      throw std::invalid_argument(fmt::format("{}: expected the key {}, got none", place_, quote(key)));
    return {*found, place_ + (is_root_ ? ": /" : "/") + key};
  }
  std::vector<SavedJson> elements() const {
    if (!value_->is_array()) refuse("an array");
    std::vector<SavedJson> all;
    for (const Json& element : *value_) all.emplace_back(element, fmt::format("{}/{}", place_, all.size()));
    return all;
  }
  double number() const {
    if (!value_->is_number()) refuse("a number");
    return value_->get<double>();
  }
  std::optional<double> optional_number() const { return is_null() ? std::nullopt : std::optional(number()); }
  // Empty where the value is null.
  std::string text() const {
    if (is_null()) return "";
    if (!value_->is_string()) refuse("a string");
    return value_->get<std::string>();
  }

 private:
  const Json* value_;
  std::string place_;
  bool is_root_;  // whose place is the file
};

PointStanding point_standing(const SavedJson& standing) {
  static constexpr std::array<std::pair<Standing, PointStanding>, kNStandings> kStandings = {{
      {Standing::meets, PointStanding::compared},
      {Standing::misses, PointStanding::compared},
      {Standing::other_job, PointStanding::other_job},
      {Standing::does_not_fit, PointStanding::does_not_fit},
      {Standing::failed, PointStanding::failed},
      {Standing::refused, PointStanding::refused},
      {Standing::ruled_out, PointStanding::not_simulated},
      {Standing::not_simulated, PointStanding::not_simulated},
  }};
  for (const auto& [known, shown] : kStandings)
    if (standing.text() == standing_name(known)) return shown;
  standing.refuse("a standing of docs/planning.md");
}

std::optional<PlanningAmount> amount_of(const SavedJson& times, const std::string& key) {
  const std::optional<double> value = times.at(key).optional_number();
  if (!value) return std::nullopt;
  return PlanningAmount{*value, times.at(key + "_low").optional_number(),
                        times.at(key + "_high").optional_number()};
}

PlanningPoint point_of(const SavedJson& candidate, std::int64_t number) {
  PlanningPoint point{.number = number,
                      .strategy = candidate.at("strategy").text(),
                      .standing = point_standing(candidate.at("standing")),
                      .reason = candidate.at("reason").text(),
                      .n_gpus = candidate.at("n_gpus").optional_number()};
  const SavedJson times = candidate.at("times");
  if (times.is_null()) return point;
  point.hours = amount_of(times, "wall_hours");
  point.gpu_days = amount_of(times, "gpu_days");
  point.money = amount_of(times, "money");
  if (!point.hours || !point.gpu_days) {  // an infinite time is null in JSON
    point.standing = PointStanding::failed;
    point.reason = kNeverFinishes;
    point.hours = point.gpu_days = point.money = std::nullopt;
  }
  return point;
}

Value number_or_none(const SavedJson& value) {
  const std::optional<double> number = value.optional_number();
  return number ? Value(*number) : Value();
}

void add_columns(const std::vector<SavedJson>& candidates, PlanningData& data) {
  PlanningColumn type{.key = "cluster.type", .title = "type", .unit = "", .values = {}};
  PlanningColumn nodes{.key = "cluster.nodes", .title = "nodes", .unit = "", .values = {}};
  PlanningColumn zero{.key = "@zero_stage", .title = "ZeRO stage", .unit = "", .values = {}};
  PlanningColumn groups{.key = "@groups", .title = "groups (tokens:SP:GC)", .unit = "", .values = {}};
  PlanningColumn standing{.key = "@limits", .title = "limits of the question", .unit = "", .values = {}};
  PlanningColumn least{
      .key = "@least_gpu_hours", .title = "GPU-hours of any schedule, at least", .unit = "h", .values = {}};
  for (const SavedJson& candidate : candidates) {
    type.values.emplace_back(candidate.at("cluster_type").text());
    nodes.values.emplace_back(candidate.at("nodes").number());
    zero.values.push_back(number_or_none(candidate.at("zero_stage")));
    const std::string plan = candidate.at("groups").text();
    groups.values.push_back(plan.empty() ? Value() : Value(plan));
    const std::string meets = candidate.at("standing").text();
    const bool is_judged =
        meets == standing_name(Standing::meets) || meets == standing_name(Standing::misses);
    standing.values.push_back(is_judged ? Value(meets) : Value());
    least.values.push_back(number_or_none(candidate.at("least_gpu_hours")));
  }
  data.settings = {std::move(type), std::move(nodes)};
  data.further = {std::move(standing), std::move(zero), std::move(groups), std::move(least)};
}

std::string limits_text(const SavedJson& question) {
  std::string text;
  const auto add = [&](const char* key, const char* unit) {
    const std::optional<double> limit = question.at(key).optional_number();
    if (limit)
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", formats_detail::quantity(*limit), unit);
  };
  add("deadline_hours", " h");
  add("budget", " of money");
  add("most_gpus", " GPUs");
  return text;
}

std::string question_text(const SavedJson& root, const PlanningData& data) {
  const SavedJson question = root.at("question");
  std::string text = fmt::format("The recommendation asked for the {} within {}, each with 90% confidence: ",
                                 question.at("goal").text(), limits_text(question));
  const std::optional<double> best = root.at("best").optional_number();
  if (!best) return text + "no cluster keeps to that.";
  if (*best < 0 || *best >= static_cast<double>(data.points.size()))
    root.at("best").refuse(fmt::format("a candidate in 0..{}", data.points.size() - 1));
  const auto index = static_cast<std::size_t>(*best);
  const PlanningPoint& point = data.points[index];
  const double nodes = std::get<double>(data.settings[1].values[index]);
  return text + fmt::format("{} on {:.0f} node{} of {} ({:.0f} GPUs).", point.strategy, nodes,
                            nodes == 1 ? "" : "s", std::get<std::string>(data.settings[0].values[index]),
                            point.n_gpus.value_or(0));
}

// What changes follow: the money, or without prices the GPU-days.
std::optional<double> cost_in(const SavedJson& times) {
  if (times.is_null()) return std::nullopt;
  const std::optional<double> money = times.at("money").optional_number();
  return money ? money : times.at("gpu_days").optional_number();
}

PlanningChange::Case case_of(const SavedJson& changed, double now) {
  const std::optional<double> cost = cost_in(changed.at("times"));
  return {.what = changed.at("what").text(),
          .ratio = cost ? std::optional(*cost / now) : std::nullopt,
          .reason = changed.at("reason").text()};
}

std::vector<PlanningChange> changes_of(const SavedJson& root, const std::vector<SavedJson>& candidates) {
  const std::optional<double> best = root.at("best").optional_number();
  if (!best) return {};
  const std::optional<double> now = cost_in(candidates[static_cast<std::size_t>(*best)].at("times"));
  if (!now || *now <= 0) return {};
  std::vector<PlanningChange> changes;
  for (const SavedJson& change : root.at("sensitivity").elements())
    changes.push_back({.what = change.at("what").text(),
                       .less = case_of(change.at("less"), *now),
                       .more = case_of(change.at("more"), *now)});
  return changes;
}

}  // namespace

PlanningData recommendation_points(const std::string& path, std::string_view text) {
  Problems problems;
  const std::optional<Json> json = parse_json(path, text, problems);
  problems.throw_if_any();
  const SavedJson root(*json, path, true);
  if (root.at("format").number() != 1) root.at("format").refuse("1");
  const std::vector<SavedJson> candidates = root.at("candidates").elements();
  if (candidates.empty()) root.at("candidates").refuse("one or more candidates");
  PlanningData data{.title = "Recommendation",
                    .source = fmt::format("{} candidates of a recommendation.", candidates.size()),
                    .points = {},
                    .settings = {},
                    .further = {},
                    .question = {},
                    .changes = {}};
  for (const SavedJson& candidate : candidates)
    data.points.push_back(point_of(candidate, static_cast<std::int64_t>(data.points.size())));
  add_columns(candidates, data);
  data.question = question_text(root, data);
  data.changes = changes_of(root, candidates);
  return data;
}

}  // namespace packsim
