// The planner on every scenario that is shipped, on part of its data.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "cli/run_scenario.hpp"
#include "scenarios/loader/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"

using namespace packsim;

namespace {

// Every k-th sample of a scenario's data, enough for so many iterations.
std::string thinned(const Scenario& scenario, std::int64_t n_iterations) {
  LengthSpec spec = scenario.lengths;
  if (spec.count) spec.count = std::min<std::int64_t>(*spec.count, 400'000);
  const std::vector<std::int32_t> lengths = draw_lengths(spec, scenario.seed).lengths_tokens;
  const auto tokens = std::reduce(lengths.begin(), lengths.end(), std::int64_t{0});
  const auto step = static_cast<std::size_t>(
      std::max<std::int64_t>(1, tokens / (n_iterations * scenario.training.tokens_per_iteration)));
  std::string text = "tokens\n";
  for (std::size_t i = 0; i < lengths.size(); i += step) text += std::to_string(lengths[i]) + "\n";
  return text;
}

std::vector<std::string> shipped() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(PACKSIM_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

TEST_CASE("no other strategy of any shipped scenario takes less time than the planner") {
  const TempFolder folder;
  const std::vector<std::string> paths = shipped();
  REQUIRE(paths.size() >= 16);
  for (const std::string& path : paths) {
    CAPTURE(path);
    Scenario scenario = load_scenario(path, {.root = PACKSIM_SOURCE_DIR});
    const std::string lengths =
        folder.write(std::filesystem::path(path).stem().string() + ".csv", thinned(scenario, 30));
    scenario.lengths = {};
    scenario.lengths.mix.emplace_back().path = lengths;
    scenario.variability = {};
    scenario.failures.reset();
    scenario.training.epochs = 1;
    // One sample a micro-batch takes tens of times as long.
    std::erase_if(scenario.strategies, [](const StrategySpec& spec) { return spec.strategy == "none"; });
    RunOptions options;
    options.n_threads = 2;
    const Report report = run_scenario(scenario, options);
    const auto planner = std::ranges::find(report.runs, "planner", &StrategyResult::name);
    REQUIRE(planner != report.runs.end());
    REQUIRE(planner->feasible);
    for (const StrategyResult& run : report.runs) {
      if (!run.feasible || run.strategy == "planner") continue;
      CAPTURE(run.name);
      CHECK(planner->gpu_days <= run.gpu_days);
    }
  }
}
