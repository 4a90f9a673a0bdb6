#include "models/memory/stages.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

int n_layers(const LayerChunk& chunk, const std::function<bool(const AlikeLayers&)>& counts) {
  int n = 0;
  for (const AlikeLayers& layers : chunk) n += counts(layers) ? layers.n_layers : 0;
  return n;
}

bool all(const AlikeLayers&) {
  return true;
}
bool is_checkpointed(const AlikeLayers& layers) {
  return layers.is_checkpointed;
}
bool is_expert(const AlikeLayers& layers) {
  return layers.kind == LayerKind::expert;
}

}  // namespace

TEST_CASE("Without a pipeline there is one chunk, and the first layers are checkpointed") {
  const std::vector<LayerChunk> chunks = stage_chunks(kLlama8b, {.gc_layers = 5}, 0);
  REQUIRE(chunks.size() == 1);
  REQUIRE(chunks[0].size() == 2);
  CHECK(chunks[0][0].is_checkpointed);
  CHECK(chunks[0][0].n_layers == 5);
  CHECK_FALSE(chunks[0][1].is_checkpointed);
  CHECK(chunks[0][1].n_layers == 27);
}

TEST_CASE("Chunk i is of stage i mod pp, and all checkpoint as many layers") {
  // 60 layers in 4 x 3 chunks of 5; 13 checkpointed layers are two a chunk.
  const ParallelPlan plan{.n_gpus = 4, .pp_degree = 4, .virtual_stages = 3, .gc_layers = 13};
  int dense_layers = 0;
  for (int stage = 0; stage < 4; ++stage) {
    const std::vector<LayerChunk> chunks = stage_chunks(kDeepseekV2, plan, stage);
    REQUIRE(chunks.size() == 3);
    for (const LayerChunk& chunk : chunks) {
      CHECK(n_layers(chunk, all) == 5);
      CHECK(n_layers(chunk, is_checkpointed) == 2);
      dense_layers += 5 - n_layers(chunk, is_expert);
    }
  }
  CHECK(dense_layers == 1);
  CHECK(stage_chunks(kDeepseekV2, plan, 0)[0][0].kind == LayerKind::dense);  // the model's first layer
}

TEST_CASE("1F1B holds the micro-batches of the stages behind it and its own") {
  const ParallelPlan plan{.n_gpus = 4, .pp_degree = 4};
  for (int stage = 0; stage < 4; ++stage) CHECK(micro_batches_in_flight(plan, stage, 8) == 4 - stage);
  CHECK(micro_batches_in_flight(plan, 0, 2) == 2);  // there are no more
  CHECK(micro_batches_in_flight({}, 0, 8) == 1);
}

TEST_CASE("The first interleaved stage holds L (1 + (p - 1) / (p v)) layers") {
  for (const int p : {2, 4, 8}) {
    for (const int v : {2, 4}) {
      const ParallelPlan plan{.n_gpus = p, .pp_degree = p, .virtual_stages = v};
      const double layers = 32.0 / p * micro_batches_in_flight(plan, 0, 64);
      CHECK(layers == Approx(32 * (1 + (p - 1.0) / (p * v))));
    }
  }
  // The last of 4 stages of 2 chunks: (2 - 1) 4 + 1 = 5 chunks. Of 4 micro-batches there are 8.
  const ParallelPlan plan{.n_gpus = 4, .pp_degree = 4, .virtual_stages = 2};
  CHECK(micro_batches_in_flight(plan, 3, 64) == 2.5);
  CHECK(micro_batches_in_flight(plan, 0, 4) == 4);
}
