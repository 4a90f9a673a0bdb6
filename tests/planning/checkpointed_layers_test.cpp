#include "planning/tune/checkpointed_layers.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <stdexcept>

using namespace packsim;

namespace {

// A GPU of 80 whose layers take 1.5 each unless they are checkpointed, and 40 for the rest.
double free_with(int gc_layers, double layer_bytes, double rest_bytes) {
  return 80 - rest_bytes - (32 - gc_layers) * layer_bytes;
}

ProfiledCase timed(int sp_degree, int gc_layers, double peak_bytes) {
  return {.pack_tokens = 32768,
          .sequence = {.ulysses = sp_degree},
          .gc_layers = gc_layers,
          .step_s = 1.0,
          .peak_memory_bytes = peak_bytes};
}

ProfiledCase out_of_memory(int sp_degree, int gc_layers) {
  return {.pack_tokens = 32768,
          .sequence = {.ulysses = sp_degree},
          .gc_layers = gc_layers,
          .infeasible_reason = "out of memory"};
}

}  // namespace

TEST_CASE("The fewest layers are rounded up: one fewer would not fit") {
  // 20 layers leave 0.5, each layer 1.75: at 32 there are 0.5 + 12 x 1.75 = 21.5, so 32 - 21.5 / 1.75 = 19.7.
  CHECK(fewest_checkpointed_layers({20, 0.5}, {32, 21.5}, 32) == 20);
  // A reading below nothing is one as well: -0.5 at 20 layers makes it 32 - 20.5 / 1.75 = 20.3.
  CHECK(fewest_checkpointed_layers({20, -0.5}, {32, 20.5}, 32) == 21);
}

TEST_CASE("The fewest layers stay within none and all") {
  // 32 - 30 / 0.5 = -28: memory is left without any checkpointed layer.
  CHECK(fewest_checkpointed_layers({0, 14}, {32, 30}, 32) == 0);
  // Exactly full with all of them.
  CHECK(fewest_checkpointed_layers({0, -32}, {32, 0}, 32) == 32);
}

TEST_CASE("What does not fit with all layers checkpointed fits with no number of them") {
  CHECK_FALSE(fewest_checkpointed_layers({20, -10}, {32, -0.001}, 32).has_value());
}

TEST_CASE("Checkpointing that frees nothing is not needed where there is room, however much it is") {
  CHECK(fewest_checkpointed_layers({20, 5}, {32, 5}, 32) == 0);
  CHECK(fewest_checkpointed_layers({20, 6}, {32, 5}, 32) == 0);
}

TEST_CASE("Readings that are not of two numbers of the model's layers are refused") {
  CHECK_THROWS_AS(fewest_checkpointed_layers({32, 1}, {32, 2}, 32), std::invalid_argument);
  CHECK_THROWS_AS(fewest_checkpointed_layers({20, 1}, {10, 2}, 32), std::invalid_argument);
  CHECK_THROWS_AS(fewest_checkpointed_layers({-1, 1}, {10, 2}, 32), std::invalid_argument);
  CHECK_THROWS_AS(fewest_checkpointed_layers({20, 1}, {33, 2}, 32), std::invalid_argument);
}

TEST_CASE("Where layers really take the same, the formula finds what trying every number finds") {
  std::mt19937 generator(7);
  for (int round = 0; round < 2000; ++round) {
    const double layer_bytes = 0.25 * (1 + static_cast<double>(generator() % 16));
    const double rest_bytes = 0.25 * static_cast<double>(generator() % 400);
    const int few = static_cast<int>(generator() % 32);
    const int most = few + 1 + static_cast<int>(generator() % (32 - few));
    std::optional<int> tried;
    for (int layers = 0; layers <= 32 && !tried; ++layers) {
      if (free_with(layers, layer_bytes, rest_bytes) >= 0) tried = layers;
    }
    // The formula sees no further than its second reading.
    if (tried && *tried > most) tried.reset();
    CAPTURE(layer_bytes, rest_bytes, few, most);
    CHECK(fewest_checkpointed_layers({few, free_with(few, layer_bytes, rest_bytes)},
                                     {most, free_with(most, layer_bytes, rest_bytes)}, 32) == tried);
  }
}

TEST_CASE("Two timed readings say where fewer layers fit than were run") {
  // 80 - 62 = 18 free at 24, 80 - 54 = 26 at 32: one a layer, so 32 - 26 = 6 fit.
  const std::vector<ProfiledCase> cases = {timed(2, 32, 54), timed(2, 24, 62)};
  CHECK(fewer_layers_that_fit(cases, 80, 32) == std::vector<FewerLayers>{{32768, {.ulysses = 2}, 6, 24}});
}

TEST_CASE("No fewer layers are named than memory has been run out of, from one reading, or between degrees") {
  CHECK(fewer_layers_that_fit(std::vector{timed(2, 32, 54), timed(2, 24, 62), out_of_memory(2, 8)}, 80, 32)
            .empty());
  CHECK(fewer_layers_that_fit(std::vector{timed(2, 32, 54), timed(4, 24, 62)}, 80, 32).empty());
  // Full at 24 layers.
  CHECK(fewer_layers_that_fit(std::vector{timed(2, 32, 72), timed(2, 24, 80)}, 80, 32).empty());
  ProfiledCase unread = timed(2, 24, 0);
  unread.peak_memory_bytes.reset();
  CHECK(fewer_layers_that_fit(std::vector{timed(2, 32, 54), unread}, 80, 32).empty());
}
