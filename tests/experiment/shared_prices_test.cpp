#include "experiment/pricers/shared_prices.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "scenarios/loader/load_scenario.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

TEST_CASE("pricers come back with what they priced, unless an error ended who had them") {
  const Scenario scenario = load_scenario("llama3.1-8b-tulu3-4k", packsim_test::kData);
  SharedPrices prices(scenario);
  const auto n_priced = [&] { return prices.lend()->store()->kernels().asked_for().size(); };
  prices.lend()->rough_cost(scenario.plan, 1024);
  CHECK(n_priced() > 0);
  // What a failed allocation leaves half computed would be a wrong price for the next one.
  try {
    const auto lent = prices.lend();
    throw std::runtime_error("out of memory");
  } catch (const std::runtime_error&) {
  }
  CHECK(n_priced() == 0);
}
