#include "scenarios/new_scenario.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "packing/strategy.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/training_stacks.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using packsim_test::kData;

TEST_CASE("The scenario of a new job is one that its trainer can run, for every shipped trainer") {
  const TempFolder folder;
  for (const std::string& name : names_of(kTrainerFiles, kData)) {
    CAPTURE(name);
    const Trainer trainer = load_trainer(name, kData);
    const NewJob job{.name = "job",
                     .model = "llama3.1-8b",
                     .cluster = "h100-sxm-80gb",
                     .gpu_hour_price = {},
                     .trainer = name,
                     .limits = &trainer,
                     .profile = "any-framework-h100",
                     .parallelism = {},
                     .tokens_per_iteration = 131072,
                     .lengths = {"gsm8k.csv"},
                     .longest_tokens = 8192};
    const Scenario scenario = load_scenario(folder.write("job.json", new_scenario(job)), kData);
    REQUIRE(scenario.trainer != nullptr);
    CHECK(scenario.trainer->name == trainer.name);
    CHECK_FALSE(scenario.strategies.empty());
    for (const StrategySpec& spec : scenario.strategies)
      CHECK((trainer.takes_plans || trainer.is_own(spec.strategy)));

    const bool has_own = std::ranges::any_of(trainer.own_strategies, [](const std::string& own) {
      return own != "none" && !find_strategy(own)->cuts_samples;
    });
    if (has_own) CHECK(trainer.is_own(scenario.baseline));
    if (!has_own) CHECK(scenario.baseline == "isf");
  }
}
