#include "reports/planning/planning_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "files/text/visible.hpp"
#include "reports/files/embedded.hpp"
#include "reports/planning/planning_front.hpp"
#include "reports/planning/planning_verdict.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {
namespace {

using PageJson = nlohmann::ordered_json;

constexpr std::size_t kFewValues = 64;
constexpr std::size_t kMostTextBytes = 400;  // of a warning or reason; the database has the whole

double rounded_number(double number) {
  return formats_detail::with_digits(number, 6);
}

void round_amount(std::optional<PlanningAmount>& amount) {
  if (!amount) return;
  amount->value = rounded_number(amount->value);
  if (amount->low) *amount->low = rounded_number(*amount->low);
  if (amount->high) *amount->high = rounded_number(*amount->high);
}

PageJson json_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return visible(text->size() <= kMostTextBytes ? *text : text->substr(0, kMostTextBytes) + "...", "\n\t");
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<double>(&value); number != nullptr && std::isfinite(*number))
    return *number == std::floor(*number) && std::abs(*number) < 1e15
               ? PageJson(static_cast<std::int64_t>(*number))  // "32", not "32.0"
               : PageJson(*number);
  return {};
}

bool is_text(const Value& value) {
  return std::holds_alternative<std::string>(value) || std::holds_alternative<bool>(value);
}

// The values once each, in the order in which they come, and the index of each point's.
struct Coded {
  PageJson values = PageJson::array();
  PageJson codes = PageJson::array();
};

Coded coded(const std::vector<Value>& values) {
  Coded result;
  std::map<Value, std::size_t> index_of;
  for (const Value& value : values) {
    const auto [found, is_new] = index_of.try_emplace(value, index_of.size());
    if (is_new) result.values.push_back(json_of(value));
    result.codes.push_back(found->second);
  }
  return result;
}

bool has_few_values(const std::vector<Value>& values) {
  std::map<Value, bool> seen;
  for (const Value& value : values) {
    seen.try_emplace(value, true);
    if (seen.size() > kFewValues) return false;
  }
  return true;
}

PageJson column_json(const PlanningColumn& column, const char* role) {
  PageJson json = {
      {"key", column.key}, {"title", visible(column.title, "")}, {"unit", column.unit}, {"role", role}};
  bool is_any_text = false;
  for (const Value& value : column.values) is_any_text = is_any_text || is_text(value);
  json["kind"] = is_any_text ? "text" : "number";
  if (!is_any_text && !has_few_values(column.values)) {
    PageJson values = PageJson::array();
    for (const Value& value : column.values) values.push_back(json_of(value));
    json["numbers"] = std::move(values);
    return json;
  }
  Coded codes = coded(column.values);
  json["values"] = std::move(codes.values);
  // A column of one value needs no indices.
  if (json["values"].size() > 1) json["codes"] = std::move(codes.codes);
  return json;
}

using GetPointValue = std::function<Value(const PlanningPoint&)>;

PlanningColumn column_of(const PlanningData& data, const char* key, const char* title, const char* unit,
                         const GetPointValue& value) {
  PlanningColumn column{.key = key, .title = title, .unit = unit, .values = {}};
  for (const PlanningPoint& point : data.points) column.values.push_back(value(point));
  return column;
}

Value value_if(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

// The amount and the ends of its interval: "hours", "hours_low" and "hours_high".
void add_amount(PageJson& columns, const PlanningData& data, const char* key, const char* title,
                const char* unit, std::optional<PlanningAmount> PlanningPoint::*amount) {
  const auto add = [&](const char* ending, const char* words, const auto& number) {
    const std::string whole_key = std::string(key) + ending;
    const std::string whole_title = std::string(title) + words;
    columns.push_back(column_json(column_of(data, whole_key.c_str(), whole_title.c_str(), unit,
                                            [&](const PlanningPoint& point) {
                                              return point.*amount ? number(*(point.*amount)) : Value();
                                            }),
                                  "result"));
  };
  add("", "", [](const PlanningAmount& of) { return Value(of.value); });
  add("_low", ", low end", [](const PlanningAmount& of) { return value_if(of.low); });
  add("_high", ", high end", [](const PlanningAmount& of) { return value_if(of.high); });
}

PageJson columns_json(const PlanningData& data) {
  PageJson columns = PageJson::array();
  const auto add = [&](const char* key, const char* title, const char* role, const GetPointValue& value) {
    columns.push_back(column_json(column_of(data, key, title, "", value), role));
  };
  add("@point", "point", "name", [](const PlanningPoint& point) { return Value(point.number); });
  add("@strategy", "strategy", "setting", [](const PlanningPoint& point) { return Value(point.strategy); });
  for (const PlanningColumn& setting : data.settings) columns.push_back(column_json(setting, "setting"));
  add("@gpus", "GPUs", "size", [](const PlanningPoint& point) { return value_if(point.n_gpus); });
  add_amount(columns, data, "@hours", "hours", "h", &PlanningPoint::hours);
  add_amount(columns, data, "@money", "money", "", &PlanningPoint::money);
  add_amount(columns, data, "@gpu_days", "GPU-days", "", &PlanningPoint::gpu_days);
  for (const PlanningColumn& column : data.further) columns.push_back(column_json(column, "further"));
  add("@standing", "standing", "standing",
      [](const PlanningPoint& point) { return Value(std::string(standing_text(point.standing))); });
  add("@reason", "reason", "reason",
      [](const PlanningPoint& point) { return point.reason.empty() ? Value() : Value(point.reason); });
  return columns;
}

PageJson case_json(const PlanningChange::Case& changed) {
  return {{"what", visible(changed.what, "")},
          {"ratio", changed.ratio ? PageJson(*changed.ratio) : PageJson()},
          {"reason", visible(changed.reason, "")}};
}

// Each class with its example, and the class of each point: -1 for points that are compared.
void add_reasons(PageJson& json, const PlanningData& data) {
  PageJson classes = PageJson::array();
  std::vector<int> class_of(data.points.size(), -1);
  for (const ReasonClass& one : reason_classes(data)) {
    for (const std::size_t point : one.points) class_of[point] = static_cast<int>(classes.size());
    classes.push_back({{"standing", standing_text(one.standing)}, {"example", json_of(one.example)}});
  }
  json["reason_classes"] = std::move(classes);
  json["reason_class"] = class_of;
}

PageJson standings_json() {
  PageJson standings = PageJson::array();
  for (int s = 0; s < kNPointStandings; ++s)
    standings.push_back(standing_text(static_cast<PointStanding>(s)));
  return standings;
}

}  // namespace

PlanningData rounded(PlanningData data) {
  for (PlanningPoint& point : data.points) {
    round_amount(point.hours);
    round_amount(point.gpu_days);
    round_amount(point.money);
  }
  for (PlanningColumn& column : data.further) {
    for (Value& value : column.values)
      if (auto* number = std::get_if<double>(&value)) *number = rounded_number(*number);
  }
  return data;
}

std::string planning_json(const PlanningData& data) {
  constexpr std::string_view kEnding = ".planning.json";
  PageJson json = {{"n_points", data.points.size()},
                   {"cost", cost_of(data) == CostKind::money ? "@money" : "@gpu_days"},
                   {"columns", columns_json(data)},
                   {"standings", standings_json()}};
  add_reasons(json, data);
  for (const auto& [column, limit] :
       {std::pair("@hours", data.limits.hours), {"@money", data.limits.money}, {"@gpus", data.limits.n_gpus}})
    if (limit) json["limits"][column] = *limit;
  json["changes"] = PageJson::array();
  for (const PlanningChange& change : data.changes)
    json["changes"].push_back({{"what", visible(change.what, "")},
                               {"less", case_json(change.less)},
                               {"more", case_json(change.more)}});
  json["theme"] = PageJson::parse(embedded_file("theme.json"));
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(kEnding)) continue;
    json["specs"][file.name.substr(0, file.name.size() - kEnding.size())] = PageJson::parse(file.text);
  }
  return json.dump(-1, ' ', false, PageJson::error_handler_t::replace);
}

}  // namespace packsim
