#pragma once

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/search_space/search_dimensions.hpp"
#include "tests/paths.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim_test {

using packsim::draw_lengths;
using packsim::LengthSpec;
using packsim::Scenario;
using packsim::TempFolder;

// Every k-th sample of a scenario's data, enough for so many iterations.
inline std::string thinned_lengths(const Scenario& scenario, std::int64_t n_iterations) {
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

inline std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(packsim_test::source_dir() + "/scenarios")) {
    // Mixtures draw their data, which thinning would lose; tests/experiment/mixture_test.cpp has them.
    const bool is_mixture = entry.path().stem().string().starts_with("mixture-");
    if (entry.path().extension() == ".json" && !is_mixture) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

/// Leaves a search the plans of a scenario's own parallelism, for tests of something else.
inline void search_little(Scenario& scenario) {
  for (packsim::StrategySpec& spec : scenario.strategies) {
    for (const packsim::SearchDimension* dimension : packsim::kSearchDimensions)
      spec.*dimension->said = {dimension->value(base_plan(scenario, spec))};
  }
}

/// A shipped scenario on so much of its data.
inline Scenario thinned_scenario(const std::string& path, std::int64_t n_iterations,
                                 const TempFolder& folder) {
  Scenario scenario = packsim::load_scenario(path, packsim_test::kData);
  const std::string lengths = folder.write(std::filesystem::path(path).stem().string() + ".csv",
                                           thinned_lengths(scenario, n_iterations));
  scenario.lengths = {};
  scenario.lengths.mix.emplace_back().path = lengths;
  return scenario;
}

}  // namespace packsim_test
