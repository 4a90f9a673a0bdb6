// Prices that strategies share are those that each would have made alone.

#include "experiment/pricing/price_strategy.hpp"

#include <catch2/catch.hpp>

#include "tests/experiment/thinned_scenarios.hpp"

namespace packsim {
namespace {

using packsim_test::thinned_scenario;

TEST_CASE("Whoever priced before, each pack costs the same to the last bit") {
  const TempFolder folder;
  const Scenario scenario =
      thinned_scenario(packsim_test::source_dir() + "/scenarios/llama3.1-8b-hybrid-128k.json", 20, folder);
  const std::vector<std::int32_t> lengths = draw_lengths(scenario.lengths, scenario.seed).lengths_tokens;
  SharedPrices shared(scenario);
  std::size_t n_shared = 0;
  for (const StrategySpec& spec : scenario.strategies) {
    CAPTURE(spec.name);
    const PlannedStrategy plan = plan_strategy(scenario, spec, lengths);
    const PricedStrategy alone = price_strategy(scenario, plan);
    const PricedStrategy among_others = price_strategy(scenario, plan, shared.lend());
    REQUIRE(alone.groups.size() == among_others.groups.size());
    for (std::size_t g = 0; g < alone.groups.size(); ++g) {
      const PackPrices& packs = alone.groups[g].packs;
      REQUIRE(packs.size() == plan.batches[g].size());
      REQUIRE(packs.size() == among_others.groups[g].packs.size());
      n_shared += packs.size() - packs.prices().size();
      for (std::size_t p = 0; p < packs.size(); ++p) {
        const MicroBatchPrice& one = packs[p];
        const MicroBatchPrice& other = among_others.groups[g].packs[p];
        REQUIRE(one.attention_forward.compute_ns == other.attention_forward.compute_ns);
        REQUIRE(one.attention_backward.compute_ns == other.attention_backward.compute_ns);
        REQUIRE(one.tokens->layers[0].backward.by_cause_ns == other.tokens->layers[0].backward.by_cause_ns);
        REQUIRE(one.tokens->head_forward.total_ns == other.tokens->head_forward.total_ns);
      }
    }
    const PriceAccount account = account_of(plan, alone);
    const PriceAccount other_account = account_of(plan, among_others);
    for (std::size_t cause = 0; cause < kNCauses; ++cause) {
      const AccountedTime one = account.total(static_cast<Cause>(cause));
      const AccountedTime other = other_account.total(static_cast<Cause>(cause));
      REQUIRE(one.time_s == other.time_s);
      REQUIRE(one.error_s == other.error_s);
    }
  }
  CHECK(n_shared > 0);
}

TEST_CASE("Strategies that run at once are lent different pricers, one after another the same") {
  const Scenario scenario = load_scenario(
      packsim_test::source_dir() + "/scenarios/llama3.1-8b-hybrid-128k.json", packsim_test::kData);
  SharedPrices shared(scenario);
  const ScenarioPricers* first = nullptr;
  {
    const auto one = shared.lend();
    first = one.get();
    CHECK(shared.lend().get() != first);
  }
  const auto one = shared.lend();
  const auto other = shared.lend();
  CHECK(one != other);
  CHECK((one.get() == first || other.get() == first));
}

}  // namespace
}  // namespace packsim
