#include "sweep/sweep_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "sweep/read_grid.hpp"

namespace packsim {
namespace {

std::string grid_text(const Grid& grid) {
  Json axes = Json::array();
  for (const GridAxis& axis : grid.axes) {
    Json keys = Json::object();
    for (const VariedKey& varied : axis) keys[varied.key] = varied.values;
    axes.push_back(std::move(keys));
  }
  return Json{{"set", grid.settings}, {"vary", axes}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string lengths_hash(const Scenario& scenario) {
  std::string hashes;
  for (const DrawnSource& source : draw_lengths(scenario.lengths, scenario.seed).sources)
    hashes += (hashes.empty() ? "" : " ") + source.hash;
  return hashes;
}

// Numbers name no file.
bool may_name_file(const std::string& value) {
  const Json json = Json::parse(value, nullptr, false);
  return !json.is_number() && !json.is_boolean() && !json.is_null();
}

// The settings of the grid alone, and with each choice of one axis, as far as it may name files.
std::set<std::vector<std::string>> settings_with_files(const Grid& grid) {
  std::set<std::vector<std::string>> all = {grid.settings};
  for (const GridAxis& axis : grid.axes) {
    for (std::size_t choice = 0; choice < axis.front().values.size(); ++choice) {
      std::vector<std::string> settings = grid.settings;
      for (const VariedKey& varied : axis) {
        if (varied.key != kStrategyKey && may_name_file(varied.values[choice]))
          settings.push_back(varied.key + "=" + varied.values[choice]);
      }
      all.insert(std::move(settings));
    }
  }
  return all;
}

// Hashes every file that a scenario of the grid names: models, clusters, profiles, lengths. Keys are names,
// because the folders of two machines that share a grid may differ. Scenarios with mistakes have no numbers
// that could be old.
std::map<std::string, std::set<std::string>> hashes_of_files(const Grid& grid, const DataPaths& data) {
  std::map<std::string, std::set<std::string>> hashes;
  std::set<std::string> known_lengths;
  for (const std::vector<std::string>& settings : settings_with_files(grid)) {
    try {
      const Scenario scenario = scenario_of(grid, data, settings, MistakenStrategies::leave_out);
      for (const auto& [path, hash] : scenario.files)
        hashes[std::filesystem::path(path).filename().string()].insert(hash);
      if (known_lengths.insert(scenario.json->at("lengths").dump()).second)
        hashes["lengths"].insert(lengths_hash(scenario));
    } catch (const ScenarioError&) {
      if (settings == grid.settings) throw;
    }
  }
  return hashes;
}

}  // namespace

SweepFacts sweep_facts(const Grid& grid, const DataPaths& data, const std::string& version,
                       const std::string& shard) {
  const Scenario scenario = scenario_of(grid, data, grid.settings);
  SweepFacts facts = {{"grid", grid_text(grid)},
                      {"scenario", grid.scenario},
                      {"scenario hash", scenario.scenario_hash},
                      {"points", fmt::format("{}", count_points(grid))},
                      {kShardFact, shard.empty() ? "1/1" : shard}};
  for (const auto& [name, of_name] : hashes_of_files(grid, data))
    facts.emplace_back("hash of " + name, fmt::format("{}", fmt::join(of_name, " ")));
  // The last to be compared: who gives another grid has more to mend than the version.
  facts.emplace_back(kVersionFact, version);
  return facts;
}

}  // namespace packsim
