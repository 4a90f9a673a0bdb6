#include "recommend/recommendation_points.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "recommend/candidate.hpp"
#include "reports/planning/planning_verdict.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

PointStanding point_standing(JsonReader& candidate) {
  static constexpr std::array<std::pair<Standing, PointStanding>, kNStandings> kStandings = {{
      {Standing::meets, PointStanding::compared},
      {Standing::misses, PointStanding::compared},
      {Standing::other_job, PointStanding::other_job},
      {Standing::does_not_fit, PointStanding::does_not_fit},
      {Standing::failed, PointStanding::failed},
      {Standing::refused, PointStanding::refused},
      {Standing::ruled_out, PointStanding::not_simulated},
      {Standing::not_simulated, PointStanding::not_simulated},
      {Standing::not_reached, PointStanding::not_reached},
  }};
  std::vector<std::string> names;
  for (const auto& [known, shown] : kStandings) names.emplace_back(standing_name(known));
  return kStandings[candidate.one_of("standing", names)].second;
}

std::optional<PlanningAmount> amount_of(JsonReader& times, const std::string& key) {
  const std::optional<double> value = times.nullable_number(key);
  const std::optional<double> low = times.nullable_number(key + "_low");
  const std::optional<double> high = times.nullable_number(key + "_high");
  if (!value) return std::nullopt;
  return PlanningAmount{*value, low, high};
}

// The times of a candidate or of a changed case, which may be null.
struct SavedTimes {
  std::optional<PlanningAmount> hours;
  std::optional<PlanningAmount> gpu_days;
  std::optional<PlanningAmount> money;

  // What changes follow: the money, or without prices the GPU-days.
  std::optional<double> cost() const {
    const std::optional<PlanningAmount>& amount = money ? money : gpu_days;
    return amount ? std::optional(amount->value) : std::nullopt;
  }
};

std::optional<SavedTimes> times_in(JsonReader& parent) {
  if (parent.is_null("times")) return std::nullopt;
  JsonReader times = parent.object("times");
  times.allow_any_keys();
  return SavedTimes{amount_of(times, "wall_hours"), amount_of(times, "gpu_days"), amount_of(times, "money")};
}

PlanningPoint point_of(JsonReader& candidate, std::int64_t number, const std::optional<SavedTimes>& times) {
  PlanningPoint point{.number = number,
                      .strategy = candidate.nullable_string("strategy").value_or(""),
                      .standing = point_standing(candidate),
                      .reason = candidate.nullable_string("reason").value_or(""),
                      .n_gpus = candidate.nullable_number("n_gpus")};
  if (!times) return point;
  if (times->hours && times->gpu_days) {
    point.hours = times->hours;
    point.gpu_days = times->gpu_days;
    point.money = times->money;
  } else {  // an infinite time is null in JSON
    point.standing = PointStanding::failed;
    point.reason = kNeverFinishes;
  }
  return point;
}

Value value_or_none(const auto& value) {
  return value ? Value(*value) : Value();
}

struct PointColumns {
  PlanningColumn type{.key = "cluster.type", .title = "type", .unit = "", .values = {}};
  PlanningColumn nodes{.key = "cluster.nodes", .title = "nodes", .unit = "", .values = {}};
  PlanningColumn zero{.key = "@zero_stage", .title = "ZeRO stage", .unit = "", .values = {}};
  PlanningColumn groups{.key = "@groups", .title = "groups", .unit = "", .values = {}};
  PlanningColumn standing{.key = "@limits", .title = "limits of the question", .unit = "", .values = {}};
  PlanningColumn least{
      .key = "@least_gpu_hours", .title = "GPU-hours of any schedule, at least", .unit = "h", .values = {}};

  void add(JsonReader& candidate) {
    const ClusterOffer offer{
        .type = candidate.string("cluster_type"),
        .gpu_hour_price = {},
        .term = candidate.has("term") ? candidate.nullable_string("term").value_or("") : ""};
    type.values.emplace_back(name_of(offer));
    nodes.values.emplace_back(candidate.number("nodes", 0));
    zero.values.push_back(value_or_none(candidate.nullable_number("zero_stage")));
    groups.values.push_back(value_or_none(candidate.nullable_string("groups")));
    const std::string meets = candidate.string("standing");
    const bool is_judged =
        meets == standing_name(Standing::meets) || meets == standing_name(Standing::misses);
    standing.values.push_back(is_judged ? Value(meets) : Value());
    least.values.push_back(value_or_none(candidate.nullable_number("least_gpu_hours")));
  }
};

// best: the index of the answer; none if there is none. so_far: " so far" where the answer is not complete.
std::string question_text(JsonReader question, std::optional<std::size_t> best, const std::string& so_far,
                          const PlanningData& data) {
  question.allow_any_keys();
  const std::string limits = limits_text(data.limits);
  const std::string text = fmt::format("The recommendation asked for the {}{}: ", question.string("goal"),
                                       limits.empty() ? "" : ", which takes " + limits);
  if (!best) return text + (limits.empty() ? "there is none" : "no cluster keeps to that") + so_far + ".";
  const PlanningPoint& point = data.points[*best];
  const double nodes = std::get<double>(data.settings[1].values[*best]);
  return text + fmt::format("{} on {:.0f} node{} of {} ({:.0f} GPUs){}.", point.strategy, nodes,
                            nodes == 1 ? "" : "s", std::get<std::string>(data.settings[0].values[*best]),
                            point.n_gpus.value_or(0), so_far);
}

PlanningChange::Case case_of(JsonReader changed, double now) {
  changed.allow_any_keys();
  const std::optional<SavedTimes> times = times_in(changed);
  const std::optional<double> cost = times ? times->cost() : std::nullopt;
  return {.what = changed.string("what"),
          .ratio = cost ? std::optional(*cost / now) : std::nullopt,
          .reason = changed.nullable_string("reason").value_or("")};
}

// now: the cost of the answer.
std::vector<PlanningChange> changes_of(JsonReader& root, std::optional<double> now) {
  std::vector<PlanningChange> changes;
  const Json* const all = root.value("sensitivity");
  if (!now || *now <= 0 || (all != nullptr && *all == Json::array())) return changes;
  for (JsonReader& change : root.objects("sensitivity")) {
    changes.push_back({.what = change.string("what"),
                       .less = case_of(change.object("less"), *now),
                       .more = case_of(change.object("more"), *now)});
  }
  return changes;
}

}  // namespace

PlanningData recommendation_points(const std::string& path, std::string_view text) {
  Problems problems;
  JsonDocument document{.file = path, .hash = {}, .root = nullptr};
  if (std::optional<Json> json = parse_json(path, text, problems))
    document.root = std::make_shared<const Json>(std::move(*json));
  JsonReader root(document, problems);
  root.allow_any_keys();
  root.integer("format", 1, 1);
  std::vector<JsonReader> candidates = root.objects("candidates");
  PlanningData data{.title = "Recommendation",
                    .source = fmt::format("{} candidates of a recommendation.", candidates.size()),
                    .points = {},
                    .settings = {},
                    .further = {},
                    .question = {},
                    .limits = {},
                    .changes = {}};
  std::optional<std::size_t> best;
  if (!root.is_null("best") && !candidates.empty()) best = root.integer("best", 0, candidates.size() - 1);
  std::optional<double> now;
  PointColumns columns;
  for (JsonReader& candidate : candidates) {
    candidate.allow_any_keys();
    const std::optional<SavedTimes> times = times_in(candidate);
    if (best == data.points.size() && times) now = times->cost();
    data.points.push_back(point_of(candidate, std::ssize(data.points), times));
    columns.add(candidate);
  }
  data.settings = {std::move(columns.type), std::move(columns.nodes)};
  data.further = {std::move(columns.standing), std::move(columns.zero), std::move(columns.groups),
                  std::move(columns.least)};
  problems.throw_if_any();
  JsonReader question = root.object("question");
  data.limits = {.hours = question.nullable_number("deadline_hours"),
                 .money = question.nullable_number("budget"),
                 .n_gpus = question.nullable_number("most_gpus")};
  data.question =
      question_text(std::move(question), best, root.boolean("is_complete", true) ? "" : " so far", data);
  data.changes = changes_of(root, now);
  problems.throw_if_any();
  return data;
}

}  // namespace packsim
