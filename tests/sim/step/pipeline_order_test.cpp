#include "sim/step/pipeline_order.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <utility>

namespace packsim {
namespace {

using Catch::Contains;

struct Shape {
  int n_stages;
  int virtual_stages;
  int n_micro_batches;
};

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (int p = 1; p <= 6; ++p) {
    for (int m = 0; m <= 13; ++m) shapes.push_back({p, 1, m});
    for (int v = 2; v <= 4; ++v)
      for (int rounds = 0; rounds <= 3; ++rounds) shapes.push_back({p, v, p * rounds});
  }
  return shapes;
}

std::string text(const std::vector<PipelinePass>& order) {
  std::string text;
  for (const PipelinePass& pass : order) {
    text += text.empty() ? "" : " ";
    text += (pass.is_forward ? "F" : "B") + std::to_string(pass.micro_batch);
    if (pass.chunk > 0) text += std::string(static_cast<std::size_t>(pass.chunk), '\'');
  }
  return text;
}

TEST_CASE("The orders that the papers draw") {
  // PipeDream-Flush's 1F1B with 4 stages and 5 micro-batches.
  CHECK(text(pipeline_order(4, 0, 1, 5)) == "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4");
  CHECK(text(pipeline_order(4, 2, 1, 5)) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4");
  CHECK(text(pipeline_order(4, 3, 1, 5)) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  // Interleaved, 2 stages of 2 chunks: the last stage does 2 forward passes more than backward ones before it
  // turns, the first one 2 more than that.
  CHECK(text(pipeline_order(2, 1, 2, 2)) == "F0 F1 F0' B0' F1' B1' B0 B1");
  CHECK(text(pipeline_order(2, 0, 2, 2)) == "F0 F1 F0' F1' B0' B1' B0 B1");
  CHECK(text(pipeline_order(1, 0, 1, 3)) == "F0 B0 F1 B1 F2 B2");
}

TEST_CASE("Every stage runs every pass once, forward before backward, micro-batches in order") {
  for (const Shape& shape : shapes()) {
    for (int stage = 0; stage < shape.n_stages; ++stage) {
      CAPTURE(shape.n_stages, shape.virtual_stages, shape.n_micro_batches, stage);
      std::set<std::pair<int, int>> forward;
      std::set<std::pair<int, int>> backward;
      std::map<std::pair<int, bool>, int> last;  // micro-batch, by chunk and direction
      for (const PipelinePass& pass :
           pipeline_order(shape.n_stages, stage, shape.virtual_stages, shape.n_micro_batches)) {
        const std::pair<int, int> what{pass.micro_batch, pass.chunk};
        REQUIRE((pass.is_forward ? forward : backward).insert(what).second);
        if (!pass.is_forward) REQUIRE(forward.count(what) == 1);
        const auto [place, is_first] = last.try_emplace({pass.chunk, pass.is_forward}, -1);
        REQUIRE(pass.micro_batch == place->second + 1);
        place->second = pass.micro_batch;
      }
      const auto n_passes = static_cast<std::size_t>(shape.virtual_stages * shape.n_micro_batches);
      REQUIRE(forward.size() == n_passes);
      REQUIRE(backward.size() == n_passes);
    }
  }
}

TEST_CASE("A stage holds as many micro-batches as there are stages behind it, and one") {
  for (const Shape& shape : shapes()) {
    for (int stage = 0; stage < shape.n_stages; ++stage) {
      CAPTURE(shape.n_stages, shape.virtual_stages, shape.n_micro_batches, stage);
      int held = 0;
      int most = 0;
      for (const PipelinePass& pass :
           pipeline_order(shape.n_stages, stage, shape.virtual_stages, shape.n_micro_batches)) {
        held += pass.is_forward ? 1 : -1;
        most = std::max(most, held);
      }
      const int behind = shape.n_stages - stage - 1;
      const int n_passes = shape.virtual_stages * shape.n_micro_batches;
      // Interleaved in chunks: 2 behind + (v - 1) p, and one (arXiv 2104.04473, section 2.2).
      const int limit = shape.virtual_stages == 1
                            ? behind + 1
                            : 2 * behind + (shape.virtual_stages - 1) * shape.n_stages + 1;
      REQUIRE(most == std::min(limit, n_passes));
    }
  }
}

TEST_CASE("Pipelines that do not exist are refused") {
  CHECK_THROWS_WITH(pipeline_order(2, 0, 2, 3),
                    "interleaved pipeline: expected a multiple of the 2 stages, got 3 micro-batches a rank");
  CHECK_THROWS_WITH(pipeline_order(2, 2, 1, 3), "expected a stage of a pipeline, got stage 2 of 2");
  CHECK_THROWS_AS(pipeline_order(2, -1, 1, 3), std::invalid_argument);
  CHECK_THROWS_AS(pipeline_order(0, 0, 1, 3), std::invalid_argument);
  CHECK_THROWS_AS(pipeline_order(2, 0, 0, 3), std::invalid_argument);
  CHECK_THROWS_AS(pipeline_order(2, 0, 1, -1), std::invalid_argument);
}

}  // namespace
}  // namespace packsim
