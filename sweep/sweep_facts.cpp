#include "sweep/sweep_facts.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"

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

}  // namespace

SweepFacts sweep_facts(const Grid& grid, const DataPaths& data, const std::string& version,
                       const std::string& shard) {
  const Scenario scenario = load_scenario(grid.scenario, data, grid.settings);
  return {{"version of packsim", version},
          {"grid", grid_text(grid)},
          {"scenario", grid.scenario},
          {"scenario hash", scenario.scenario_hash},
          {"profile hash", scenario.profile_hash},
          {"hardware profile hash", scenario.hardware_hash},
          {"lengths hash", lengths_hash(scenario)},
          {"points", fmt::format("{}", count_points(grid))},
          {kShardFact, shard.empty() ? "1/1" : shard}};
}

}  // namespace packsim
