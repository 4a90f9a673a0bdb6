#include "models/pipeline_chunks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "expert_models.hpp"
#include "llama_8b.hpp"
#include "models/memory/peak_memory.hpp"
#include "models/memory/stages.hpp"
#include "models/memory/weights.hpp"
#include "uneven_chunks.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

const Cluster kTwoNodes{.name = "two nodes", .source = "", .gpu = {}, .nodes = 2};

}  // namespace

TEST_CASE("Layers are checkpointed evenly over uneven chunks, as far as these have any") {
  // 32 layers in chunks of 1, 15, 15 and 1: 20 checkpointed ones are one each and 9 more of both middle ones.
  ParallelPlan plan{.n_gpus = 4, .pp_degree = 2, .virtual_stages = 2, .chunk_layers = {1, 15, 15, 1}};
  plan.gc_layers = 20;
  const std::vector<PipelineChunk> chunks = pipeline_chunks(kLlama8b, plan);
  REQUIRE(chunks.size() == 4);
  CHECK(chunks[2].first_layer == 16);
  CHECK(chunks[0].n_checkpointed == 1);
  CHECK(chunks[1].n_checkpointed == 9);
  CHECK(chunks[2].n_checkpointed == 9);
  CHECK(chunks[3].n_checkpointed == 1);
  plan.gc_layers = 32;
  for (const PipelineChunk& chunk : pipeline_chunks(kLlama8b, plan))
    CHECK(chunk.n_checkpointed == chunk.n_layers);
}

TEST_CASE("Drawn chunks hold every layer once, dense ones first, and as few checkpointed ones as can be") {
  std::mt19937 generator(5);
  for (int i = 0; i < 300; ++i) {
    const Transformer& model = i % 2 == 0 ? kLlama8b : kDeepseekV2;
    ParallelPlan plan{.n_gpus = 16, .pp_degree = 1 << generator() % 4};
    plan.virtual_stages = plan.pp_degree > 1 ? 1 + static_cast<int>(generator() % 3) : 1;
    plan.chunk_layers = uneven_chunks(model.n_layers, plan.n_chunks(), generator);
    plan.gc_layers = static_cast<int>(generator() % static_cast<unsigned>(model.n_layers + 1));
    REQUIRE(plan_mistakes(model, kTwoNodes, plan).empty());
    int n_layers = 0;
    int n_dense = 0;
    int n_checkpointed = 0;
    int most = 0;
    int n_with_most = 0;
    for (const PipelineChunk& chunk : pipeline_chunks(model, plan)) {
      REQUIRE(chunk.first_layer == n_layers);
      REQUIRE((chunk.n_dense == 0 || n_layers == n_dense));
      n_layers += chunk.n_layers;
      n_dense += chunk.n_dense;
      n_checkpointed += chunk.n_checkpointed;
      n_with_most = chunk.n_checkpointed > most ? 1 : n_with_most + (chunk.n_checkpointed == most ? 1 : 0);
      most = std::max(most, chunk.n_checkpointed);
    }
    REQUIRE(n_layers == model.n_layers);
    REQUIRE(n_dense == model.n_layers_of(LayerKind::dense));
    // With one less in the chunks that have most there would be too few.
    REQUIRE(n_checkpointed >= plan.gc_layers);
    REQUIRE((plan.gc_layers == 0 || n_checkpointed - n_with_most < plan.gc_layers));
  }
}

TEST_CASE("Uneven stages share out the same weights, and the fullest one decides what fits") {
  const ParallelPlan even{.n_gpus = 16, .pp_degree = 4};
  ParallelPlan uneven = even;
  uneven.chunk_layers = {0, 20, 12, 0};
  double sums[2] = {0, 0};
  for (int stage = 0; stage < 4; ++stage) {
    sums[0] += stage_weights(kLlama8b, even, stage).total();
    sums[1] += stage_weights(kLlama8b, uneven, stage).total();
  }
  CHECK(sums[1] == Approx(sums[0]));
  CHECK(stage_weights(kLlama8b, uneven, 0).total() == vocabulary_weights(kLlama8b, uneven));
  const MemoryPeak peak = peak_memory(kLlama8b, kTwoNodes, uneven, {}, 8192, 8);
  CHECK(peak.stage == 1);
  CHECK(peak.total_bytes() > peak_memory(kLlama8b, kTwoNodes, even, {}, 8192, 8).total_bytes());
  // The last stage has the head alone, and its logits.
  CHECK(peak_memory(kLlama8b, kTwoNodes, uneven, {.logits_bytes_per_vocab_entry = 1000}, 8192, 8).stage == 3);
}
