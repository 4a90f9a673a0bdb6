#include "sweep/read_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/lengths/with_lengths.hpp"
#include "sweep/value_range.hpp"

namespace packsim {
namespace {

constexpr const char* kAxesName = "sweep()";  // where axes from Python code are, in messages

std::string setting_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Names of strategies are words, not JSON.
std::string value_text(const std::string& key, const Json& value) {
  return key == kStrategyKey && value.is_string() ? value.get<std::string>() : setting_text(value);
}

VariedKey read_varied(JsonReader& axis, const std::string& key) {
  VariedKey varied{.key = key, .values = {}};
  const Json& value = *axis.value(key);
  if (value.is_array() && !value.empty()) {
    for (const Json& one : value) varied.values.push_back(value_text(key, one));
  } else if (value.is_object()) {
    if (const auto numbers = read_range(axis.object(key), key)) varied.values = *numbers;
  } else {
    axis.refuse(key, R"(a list of values, or a range such as {"from": 1, "to": 8, "factor": 2})");
  }
  return varied;
}

GridAxis read_axis(JsonReader axis, const Json& members) {
  axis.allow_any_keys();
  GridAxis keys;
  for (const auto& [key, value] : members.items()) {
    VariedKey varied = read_varied(axis, key);
    if (!varied.values.empty()) keys.push_back(std::move(varied));
  }
  for (const VariedKey& varied : keys) {
    const std::size_t n_first = keys.front().values.size();
    if (varied.values.size() == n_first) continue;
    axis.refuse(varied.key,
                fmt::format("{} values, as many as {} beside it has", n_first, quote(keys.front().key)),
                fmt::format("{}", varied.values.size()));
  }
  return keys;
}

// "cluster.nodes=1,2,4": values are JSON or bare words, with commas between them.
std::optional<GridAxis> axis_of(const std::string& varied, Problems& problems) {
  const std::size_t equals = varied.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == varied.size()) {
    problems.add({"", "--vary", "KEY=VALUE,VALUE..., such as cluster.nodes=1,2,4", quote(varied)});
    return std::nullopt;
  }
  VariedKey key{.key = varied.substr(0, equals), .values = {}};
  const std::string texts = varied.substr(equals + 1);
  Problems not_json;
  const std::optional<Json> list = parse_json("", "[" + texts + "]", not_json);
  if (list && not_json.size() == 0) {
    for (const Json& value : *list) key.values.push_back(value_text(key.key, value));
    return GridAxis{std::move(key)};
  }
  for (std::size_t from = 0; from <= texts.size();) {
    const std::size_t comma = std::min(texts.find(',', from), texts.size());
    key.values.push_back(texts.substr(from, comma - from));
    from = comma + 1;
  }
  if (std::ranges::find(key.values, "") == key.values.end()) return GridAxis{std::move(key)};
  problems.add({"", "--vary " + key.key, "values between the commas", quote(texts)});
  return std::nullopt;
}

std::vector<std::string> read_settings(JsonReader reader, const Json* members) {
  std::vector<std::string> settings;
  reader.allow_any_keys();
  if (members == nullptr || !members->is_object()) return settings;
  for (const auto& [key, value] : members->items()) settings.push_back(key + "=" + setting_text(value));
  return settings;
}

// A scenario that the grid names is a name, or a path from the grid's folder.
std::string scenario_path(const std::string& name, const std::string& grid_file) {
  if (!is_path(name) || std::filesystem::path(name).is_absolute()) return name;
  const std::filesystem::path beside = std::filesystem::path(grid_file).parent_path() / name;
  return std::filesystem::exists(beside) ? beside.string() : name;
}

// An axis for each object of a list.
void add_file_axes(std::vector<JsonReader> readers, const Json& axes, Grid& grid) {
  for (std::size_t a = 0; a < readers.size(); ++a) {
    if (readers[a].silent()) continue;
    GridAxis axis = read_axis(std::move(readers[a]), axes[a]);
    if (!axis.empty()) grid.axes.push_back(std::move(axis));
  }
}

Grid read_grid_file(const JsonDocument& document, Problems& problems) {
  JsonReader reader(document, problems);
  reader.describe_as({.text = "a grid"});
  reader.string("$schema", "");  // for editors
  Grid grid;
  grid.scenario = scenario_path(reader.string("scenario"), document.file);
  grid.settings = read_settings(reader.optional_object("set"), reader.value("set"));
  const Json* axes = reader.value("vary");
  add_file_axes(reader.objects("vary"), *axes, grid);
  return grid;
}

// Names and texts for people, which change no point.
constexpr const char* kTexts[] = {"name", "description", "$schema"};

void check_keys(const Grid& grid, const std::string& file, Problems& problems) {
  std::set<std::string> seen;
  for (const std::string& key : varied_keys(grid)) {
    if (!seen.insert(key).second)
      problems.add({file, "vary", "each key once", fmt::format("{} twice", quote(key))});
    if (std::ranges::find(kTexts, key) != std::end(kTexts))
      problems.add({file, "vary", "keys that change points", quote(key)});
  }
}

void check_strategies_of(const Grid& grid, const std::vector<std::string>& names, const std::string& file,
                         Problems& problems) {
  for (const GridAxis& axis : grid.axes) {
    for (const VariedKey& varied : axis) {
      if (varied.key != kStrategyKey) continue;
      for (const std::string& name : varied.values) {
        if (std::ranges::find(names, name) == names.end())
          problems.add(
              {file, std::string("vary ") + kStrategyKey, expected_one_of(name, names), quote(name)});
      }
    }
  }
}

// The axes that Python code gives: those of "vary", each key by itself, and those of "zipped".
void add_axes(const std::string& text, Grid& grid, Problems& problems) {
  const std::optional<Json> root = parse_json(kAxesName, text, problems);
  problems.throw_if_any();
  const JsonDocument document{
      .file = kAxesName, .hash = {}, .root = std::make_shared<const Json>(*root), .records = nullptr};
  JsonReader reader(document, problems);
  if (root->contains("vary")) {
    JsonReader varied = reader.object("vary");
    varied.allow_any_keys();
    for (const auto& [key, value] : root->at("vary").items()) {
      VariedKey axis = read_varied(varied, key);
      if (!axis.values.empty()) grid.axes.push_back({std::move(axis)});
    }
  }
  if (root->contains("zipped")) add_file_axes(reader.objects("zipped"), root->at("zipped"), grid);
}

std::optional<JsonDocument> document_of(const GridSource& source, Problems& problems) {
  if (source.text) {
    const std::optional<Json> root = parse_json(source.path, *source.text, problems);
    problems.throw_if_any();
    return JsonDocument{
        .file = source.path, .hash = {}, .root = std::make_shared<const Json>(*root), .records = nullptr};
  }
  if (!is_path(source.path)) return std::nullopt;
  return read_json(source.path, problems, Comments::allowed);
}

}  // namespace

Grid read_grid(const GridSource& source, const DataPaths& data) {
  const std::string& path = source.path;
  Problems problems;
  Grid grid{
      .scenario = path, .scenario_text = source.text, .lengths = source.lengths, .settings = {}, .axes = {}};
  if (!source.text && is_standard_input(path)) {
    problems.add({"", "grid", "a file, which can be read again", quote(path)});
    problems.throw_if_any();
  }
  if (const std::optional<JsonDocument> document = document_of(source, problems)) {
    problems.throw_if_any();
    if (document->root->is_object() && document->root->contains("vary")) {
      grid = read_grid_file(*document, problems);
      grid.lengths = source.lengths;
    }
  }
  std::ranges::copy(source.settings, std::back_inserter(grid.settings));
  for (const std::string& text : source.varied) {
    if (std::optional<GridAxis> axis = axis_of(text, problems)) grid.axes.push_back(std::move(*axis));
  }
  if (!source.axes.empty()) add_axes(source.axes, grid, problems);
  check_keys(grid, path, problems);
  problems.throw_if_any();

  const std::vector<std::string> names = names_in(scenario_of(grid, data, grid.settings).strategies);
  check_strategies_of(grid, names, path, problems);
  if (const std::vector<std::string> keys = varied_keys(grid);
      std::ranges::find(keys, kStrategyKey) == keys.end())
    grid.axes.insert(grid.axes.begin(), GridAxis{{.key = kStrategyKey, .values = names}});
  if (count_points(grid) > kMostGridPoints)
    problems.add({path, "vary", fmt::format("at most {} points", kMostGridPoints), "more"});
  problems.throw_if_any();
  return grid;
}

Scenario scenario_of(const Grid& grid, const DataPaths& data, std::span<const std::string> settings,
                     MistakenStrategies mistaken) {
  const Scenario scenario =
      grid.scenario_text ? load_scenario_text(*grid.scenario_text, grid.scenario, data, settings, mistaken)
                         : load_scenario(grid.scenario, data, settings, mistaken);
  return grid.lengths.empty() ? scenario : with_sources(scenario, grid.lengths);
}

}  // namespace packsim
