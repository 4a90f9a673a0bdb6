#include "scenarios/loader/scenario_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <utility>

#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

constexpr std::string_view kOption = "--set";

std::string place_of(const std::string& key) {
  return fmt::format("{} {}", kOption, key);
}

// The name of an entry of "strategies", which is its strategy's unless it has one; empty of anything else.
std::string entry_name(const Json& element) {
  for (const char* key : {"name", "strategy"}) {
    if (element.is_object() && element.contains(key) && element[key].is_string())
      return element[key].get<std::string>();
  }
  return "";
}

std::vector<std::string> entry_names(const Json& array) {
  std::vector<std::string> names;
  for (const Json& element : array) names.push_back(entry_name(element));
  std::erase(names, "");
  return names;
}

std::optional<std::size_t> index_of(const Json& array, const std::string& step) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  if (error == std::errc{} && end == step.data() + step.size() && index < array.size()) return index;
  const auto found = std::ranges::find(array, step, entry_name);
  return found == array.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - array.begin()));
}

// One setting on its way through the scenario.
class Setting {
 public:
  Setting(const std::string& text, Problems& problems) : problems_(problems) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems_.add({"", std::string(kOption), "KEY=VALUE, such as training.zero_stage=3", quote(text)});
      return;
    }
    change_.key = text.substr(0, equals);
    value_ = value_of(text.substr(equals + 1));
    for (const auto step : std::views::split(change_.key, '.')) steps_.emplace_back(step.begin(), step.end());
  }

  std::optional<ScenarioChange> apply(Json& scenario) {
    if (!value_) return std::nullopt;
    Json* at = &scenario;
    for (std::size_t i = 0; i < steps_.size() && at != nullptr;) at = next(*at, i);
    if (at == nullptr) return std::nullopt;
    *at = std::move(*value_);
    if (change_.added.empty()) change_.added = change_.pointer;
    return change_;
  }

 private:
  void refuse(const std::string& expected, const std::string& got) {
    problems_.add({"", place_of(change_.key), expected, got});
  }

  // Text that starts as JSON other than a number has to be JSON; anything else may be a bare word.
  std::optional<Json> value_of(const std::string& text) {
    Problems mistakes;
    std::optional<Json> value = parse_json("", text, mistakes);
    if (value && mistakes.size() == 0) return value;
    if (text.empty() || std::string_view("{[\"").find(text.front()) != std::string_view::npos) {
      refuse("JSON, or a bare word", quote(text));
      return std::nullopt;
    }
    return Json(text);
  }

  // The value at the step, or null if there can be none. Moves on by what it took of the key.
  Json* next(Json& from, std::size_t& i) {
    if (from.is_array()) return element(from, i);
    const std::string& step = steps_[i++];
    if (!from.is_object() || step.empty()) {
      refuse(fmt::format("the path of a value, {}", step.empty() ? "without empty names" : "through objects"),
             step.empty() ? quote(change_.key) : fmt::format("{} before {}", describe(from), quote(step)));
      return nullptr;
    }
    change_.pointer += "/" + pointer_step(step);
    if (!from.contains(step)) {
      if (change_.added.empty()) change_.added = change_.pointer;
      from[step] = Json::object();
    }
    return &from[step];
  }

  // Names may have dots in them: the longest that fits is meant.
  Json* element(Json& array, std::size_t& i) {
    for (std::size_t end = steps_.size(); end > i; --end) {
      std::string name = steps_[i];
      for (std::size_t j = i + 1; j < end; ++j) name += "." + steps_[j];
      const std::optional<std::size_t> index = index_of(array, name);
      if (!index) continue;
      i = end;
      change_.pointer += fmt::format("/{}", *index);
      return &array[*index];
    }
    const std::vector<std::string> names = entry_names(array);
    const std::string numbers = array.empty() ? "no element" : fmt::format("0..{}", array.size() - 1);
    refuse(names.empty() ? numbers : fmt::format("{}, or {}", numbers, expected_one_of(steps_[i], names)),
           quote(steps_[i]));
    return nullptr;
  }

  Problems& problems_;
  ScenarioChange change_;
  std::vector<std::string> steps_;
  std::optional<Json> value_;
};

bool is_within(const std::string& place, const std::string& pointer) {
  return place.starts_with(pointer) && (place.size() == pointer.size() || place[pointer.size()] == '/');
}

Problem with_setting(Problem problem, std::span<const ScenarioChange> changes) {
  for (const ScenarioChange& change : std::views::reverse(changes)) {
    const bool is_added = problem.place == change.added;
    if (!is_added && !is_within(problem.place, change.pointer)) continue;
    problem.place = place_of(change.key) + (is_added ? "" : problem.place.substr(change.pointer.size()));
    problem.file.clear();
    break;
  }
  return problem;
}

}  // namespace

std::vector<ScenarioChange> change_scenario(Json& scenario, std::span<const std::string> settings,
                                            Problems& problems) {
  std::vector<ScenarioChange> changes;
  for (const std::string& text : settings) {
    if (std::optional<ScenarioChange> change = Setting(text, problems).apply(scenario))
      changes.push_back(std::move(*change));
  }
  return changes;
}

std::string hash_of_scenario(const Json& scenario) {
  return hash_of(scenario.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string scenario_text_of(const Json& scenario) {
  return scenario.dump(2, ' ', false, Json::error_handler_t::replace);
}

Problems with_settings(const Problems& problems, const std::string& file,
                       std::span<const ScenarioChange> changes) {
  Problems renamed;
  for (const Problem& problem : problems.all())
    renamed.add(problem.file == file ? with_setting(problem, changes) : problem);
  return renamed;
}

}  // namespace packsim
