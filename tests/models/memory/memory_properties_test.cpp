#include <catch2/catch.hpp>
#include <random>

#include "models/memory/peak_memory.hpp"
#include "models/memory/stages.hpp"
#include "models/memory/states.hpp"
#include "models/memory/weights.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

const Cluster kManyNodes{.name = "", .source = "", .gpu = {}, .nodes = 128, .gpus_per_node = 8};

struct Draw {
  Transformer model;
  ParallelPlan plan;
  MemoryAssumptions assumptions;
  double tokens = 0;
  int n_micro_batches = 1;

  MemoryPeak peak() const {
    return peak_memory(model, kManyNodes, plan, assumptions, tokens, n_micro_batches);
  }
};

// A plan that can exist; std::mt19937's numbers are the same everywhere.
Draw draw(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  const auto degree = [&](unsigned n) { return 1 << below(n); };
  const std::vector<Transformer> models = {kLlama8b, kDeepseekV2, kQwen3Moe};
  while (true) {
    Draw drawn;
    drawn.model = models[random() % models.size()];
    ParallelPlan& plan = drawn.plan;
    plan.n_gpus = degree(9);
    plan.tp_degree = degree(4);
    plan.sequence.ulysses = degree(4);
    plan.sequence.ring = degree(3);
    plan.pp_degree = degree(3);
    plan.virtual_stages = plan.pp_degree > 1 ? degree(3) : 1;
    plan.ep_degree = degree(6);
    plan.zero_stage = below(4);
    plan.execution.fp32_gradients = below(2) == 1;
    plan.gc_layers = below(static_cast<unsigned>(drawn.model.n_layers + 1));
    plan.checkpointing = static_cast<Checkpointing>(below(4));
    if (plan.checkpointing == Checkpointing::modules) {
      for (const LayerModuleKind& kind : kLayerModules)
        if (below(2) == 0) plan.recomputed_modules.add(kind.module);
    }
    plan.latent_exchange = drawn.model.has_latent_attention() && below(2) == 1;
    plan.offload = Offload{.optimizer = below(3) == 0};
    plan.lora_rank = below(3) == 0 ? 16 : 0;
    if (plan.lora_rank > 0 && below(2) == 0) plan.frozen_weights = &kNf4;
    drawn.assumptions = {.reserved_bytes = 1e9, .logits_bytes_per_vocab_entry = 1.0 * below(10)};
    drawn.tokens = 1 + below(32768);
    drawn.n_micro_batches = 1 + below(32);
    if (plan_mistakes(drawn.model, kManyNodes, plan).empty()) return drawn;
  }
}

constexpr int kDraws = 400;

}  // namespace

TEST_CASE("Every part of a peak is at least 0, and the parts add up") {
  std::mt19937 random(1);
  for (int i = 0; i < kDraws; ++i) {
    const Draw drawn = draw(random);
    const MemoryPeak peak = drawn.peak();
    double sum = 0;
    for (const double part :
         {peak.weights_bytes, peak.gradients_bytes, peak.optimizer_bytes, peak.activations_bytes,
          peak.checkpoints_bytes, peak.recomputed_bytes, peak.activation_gradient_bytes, peak.logits_bytes,
          peak.gathered_weights_bytes, peak.bucket_bytes, peak.exchange_bytes, peak.reserved_bytes}) {
      CHECK(part >= -1e-3);  // what a stage's last layer leaves is a difference of sums
      sum += part;
    }
    CHECK(peak.total_bytes() == Approx(sum));
    CHECK((peak.host_bytes > 0) == (drawn.plan.offload.any()));
    CHECK(peak.stage < drawn.plan.pp_degree);
  }
}

TEST_CASE("More tokens never need less memory, nor do more micro-batches") {
  std::mt19937 random(2);
  for (int i = 0; i < kDraws; ++i) {
    Draw drawn = draw(random);
    const double bytes = drawn.peak().total_bytes();
    ++drawn.n_micro_batches;
    CHECK(drawn.peak().total_bytes() >= bytes * (1 - 1e-12));
    --drawn.n_micro_batches;
    drawn.tokens += 1 + static_cast<double>(random() % 1000);
    CHECK(drawn.peak().total_bytes() >= bytes * (1 - 1e-12));
  }
}

TEST_CASE("More checkpointed layers never need more memory, but for the input of a chunk's last layer") {
  // It is recomputed at once, when all that checkpointing could have freed is still there; were it not
  // checkpointed, its input would not be kept beside it.
  std::mt19937 random(3);
  for (int i = 0; i < kDraws; ++i) {
    Draw drawn = draw(random);
    const int n_chunks = drawn.plan.pp_degree * drawn.plan.virtual_stages;
    const int last = drawn.model.n_layers - n_chunks;
    if (drawn.plan.gc_layers == drawn.model.n_layers) --drawn.plan.gc_layers;
    const double bytes = drawn.peak().total_bytes();
    ++drawn.plan.gc_layers;
    const bool checkpoints_all = drawn.plan.gc_layers > last;
    const double input = checkpoints_all ? drawn.tokens * 2 * drawn.model.hidden_size : 0;
    CHECK(drawn.peak().total_bytes() <= bytes * (1 + 1e-12) + input);
  }
}

TEST_CASE("A higher ZeRO stage never holds more states") {
  std::mt19937 random(4);
  for (int i = 0; i < kDraws; ++i) {
    Draw drawn = draw(random);
    for (int stage = 0; stage < drawn.plan.pp_degree; ++stage) {
      double before = 1e300;
      for (drawn.plan.zero_stage = 0; drawn.plan.zero_stage <= 3; ++drawn.plan.zero_stage) {
        const double bytes = stage_states(drawn.model, drawn.plan, stage).total_bytes();
        CHECK(bytes <= before);
        before = bytes;
      }
    }
  }
}

TEST_CASE("More data-parallel ranks never need more memory, where there are two already") {
  // The second rank brings ZeRO-2 its buckets and ZeRO-3 gathered weights, which one alone does not need.
  std::mt19937 random(5);
  int n_tried = 0;
  for (int i = 0; i < kDraws; ++i) {
    Draw drawn = draw(random);
    if (drawn.plan.state_gpus() == 1 || expert_state_gpus(drawn.plan) == 1) continue;
    const double bytes = drawn.peak().total_bytes();
    drawn.plan.n_gpus *= 2;
    CHECK(drawn.peak().total_bytes() <= bytes);
    ++n_tried;
  }
  CHECK(n_tried > kDraws / 2);
}

TEST_CASE("The largest of the moments of a step is the peak, part by part") {
  std::mt19937 random(5);
  for (int i = 0; i < kDraws; ++i) {
    const Draw drawn = draw(random);
    CAPTURE(i);
    const PlanMemory memory(drawn.model, kManyNodes, drawn.plan, drawn.assumptions);
    MemoryPeak largest;
    const auto keep = [&](const MemoryPeak& moment) {
      if (moment.total_bytes() > largest.total_bytes()) largest = moment;
    };
    for (int stage = 0; stage < drawn.plan.pp_degree; ++stage) {
      CHECK(memory.at_rest(stage).total_bytes() <= memory.at_optimizer_step(stage).total_bytes());
      keep(memory.at_optimizer_step(stage));
      MemoryPeak held = memory.between_passes(stage);
      const double in_flight = micro_batches_in_flight(drawn.plan, stage, drawn.n_micro_batches);
      // What micro-batches keep is in proportion to their tokens.
      for (int chunk = 0; chunk < drawn.plan.virtual_stages; ++chunk)
        held += memory.kept(stage, chunk, in_flight * drawn.tokens);
      for (int chunk = 0; chunk < drawn.plan.virtual_stages; ++chunk)
        keep(memory.backward_pass(stage, chunk, drawn.tokens, held));
    }
    const MemoryPeak peak = drawn.peak();
    CHECK(largest.total_bytes() == Approx(peak.total_bytes()).epsilon(1e-12));
    CHECK(largest.stage == peak.stage);
    double sum = 0;
    for (const PeakPart& part : peak_parts()) {
      CAPTURE(part.name);
      CHECK(largest.*part.bytes == Approx(peak.*part.bytes).epsilon(1e-9).margin(1));
      sum += peak.*part.bytes;
    }
    CHECK(sum == Approx(peak.total_bytes()).epsilon(1e-12));
  }
}
