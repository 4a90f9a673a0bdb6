// Any bytes as a scenario, with the shipped data: an accepted one is resolved as `packsim check` does it, and
// what it says of its size is what the file says. Mistakes name their file.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "experiment/plans/check_strategies.hpp"
#include "files/file_error.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/fuzz/input_file.hpp"
#include "tests/shipped_data.hpp"

namespace {

using packsim::testing::expect;

void check_sizes(const nlohmann::json& root, const packsim::Scenario& scenario) {
  expect(root["cluster"]["nodes"] == scenario.cluster.nodes, "nodes");
  expect(root["training"]["tokens_per_iteration"] == scenario.training.tokens_per_iteration, "tokens");
  expect(root["strategies"].size() == scenario.strategies.size(), "no strategy is left out");
  expect(root["lengths"]["mix"].size() == scenario.lengths.mix.size(), "no source is left out");
  std::set<std::string> names;
  for (const packsim::StrategySpec& spec : scenario.strategies) {
    expect(names.insert(spec.name).second, "names of strategies are different");
    expect(std::ranges::is_sorted(spec.groups, {}, &packsim::GroupSpec::capacity_tokens), "groups ascend");
    for (const packsim::GroupSpec& group : spec.groups) {
      expect(group.capacity_tokens >= 1 && group.capacity_tokens <= 16'777'216, "capacities");
      expect(scenario.cluster.n_gpus() % group.sequence.gpus_per_pack() == 0, "GPUs of a pack");
      expect(group.gc_layers.value_or(0) <= scenario.model.n_layers, "checkpointed layers");
    }
  }
  expect(names.contains(scenario.baseline), "the baseline is a strategy");
}

// How many lengths the mix asks for, where it says so; the data sets are larger than is quick.
bool is_quick(const packsim::LengthSpec& lengths) {
  if (lengths.count.value_or(0) > 10'000) return false;
  return lengths.count || std::ranges::all_of(lengths.mix, [](const packsim::LengthSource& source) {
           return source.count.value_or(100'000) < 10'000;
         });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  static const packsim::testing::InputFile file;
  file.write(data, n_bytes);
  try {
    const packsim::Scenario scenario = packsim::load_scenario(file.path(), packsim_test::kData);
    std::string_view text(reinterpret_cast<const char*>(data), n_bytes);
    if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
    check_sizes(nlohmann::json::parse(text), scenario);
    if (!is_quick(scenario.lengths)) return 0;
    const packsim::DrawnLengths drawn = packsim::draw_lengths(scenario.lengths, scenario.seed);
    if (scenario.lengths.count)
      expect(*scenario.lengths.count == std::ssize(drawn.lengths_tokens), "as many samples as asked for");
    packsim::check_strategies(scenario, drawn.lengths_tokens);
  } catch (const packsim::ScenarioError& error) {
    packsim::testing::check_messages(error);
  } catch (const packsim::FileError& error) {
    expect(std::string_view(error.what()).find('/') != std::string_view::npos, "a message names the file");
  }
  return 0;
}
