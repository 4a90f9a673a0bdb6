// The charts of the shipped scenarios' reports, as the program writes them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "program.hpp"

using namespace packsim_test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

bool is_seen(const Json& value) {
  if (value.is_array()) return std::ranges::any_of(value, is_seen);
  return value.is_number() && value != 0;
}

// What a reader chooses the rows by; null if nothing.
Json choice_of_runs(const Json& spec) {
  for (const Json& param : spec.value("params", Json::array()))
    if (param["name"] == "run" && param.contains("bind")) return param["bind"]["options"];
  return {nullptr};
}

// The baseline and the strategies beside it: two runs have all charts that more have.
std::string two_strategies(const fs::path& scenario) {
  std::ifstream file(scenario);
  const Json job = Json::parse(file, nullptr, true, true);
  std::vector<std::string> names;
  for (const Json& strategy : job["strategies"])
    names.push_back(strategy.value("name", strategy["strategy"].get<std::string>()));
  const std::string baseline = job.value("baseline", names.front());
  std::erase(names, baseline);
  std::string options = " --strategy '" + baseline + "'";
  if (!names.empty()) options += " --strategy '" + names.front() + "'";
  return options;
}

}  // namespace

TEST_CASE("No chart of every third shipped scenario holds only zeros, whichever run is chosen", "[slow]") {
  std::set<fs::path> scenarios;
  for (const auto& entry : fs::directory_iterator(source_dir() + "/scenarios"))
    if (entry.path().extension() == ".json") scenarios.insert(entry.path());
  REQUIRE(scenarios.size() >= 18);
  const TemporaryFolder folder;
  int number = 0;
  for (const fs::path& scenario : scenarios) {
    if (number++ % 3 != 0) continue;  // all of them take minutes
    INFO(scenario);
    REQUIRE(run_shell(folder, "packsim compare --quiet --set packing.search_time_limit_s=0.5 --out report " +
                                  scenario.string() + two_strategies(scenario))
                .exit_code == 0);
    const Json charts = Json::parse(read_text(folder / "report/charts.json"));
    CHECK(charts["specs"].size() >= 10);
    for (const auto& [name, spec] : charts["specs"].items()) {
      INFO(name);
      const Json& about = spec["usermeta"];
      for (const Json& run : choice_of_runs(spec)) {
        INFO(run);
        const Json& rows = charts["datasets"][about["shown_with"].get<std::string>()];
        CHECK(std::ranges::any_of(rows, [&](const Json& row) {
          return (run.is_null() || row["run"] == run) &&
                 std::ranges::any_of(about["measures"], [&](const Json& field) {
                   return is_seen(row[field.get<std::string>()]);
                 });
        }));
      }
    }
  }
}
