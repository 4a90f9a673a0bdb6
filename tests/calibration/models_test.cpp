#include <catch2/catch.hpp>

#include "scenarios/loader/list_files.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

TEST_CASE("Every shipped model has the published number of parameters") {
  const auto models = list_files(kModelFiles, packsim_test::kData);
  REQUIRE(models.size() >= 7);
  for (const ListedFile& file : models) {
    const Transformer model = load_model(file.name, packsim_test::kData);
    CAPTURE(model.name);
    REQUIRE(model.published_parameters.has_value());
    CHECK(model.parameters() == Approx(*model.published_parameters).epsilon(0.001));
  }
}
