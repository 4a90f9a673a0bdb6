#include "models/coverage/schedule_kernels.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "llama_8b.hpp"
#include "models/coverage/step_kernels.hpp"
#include "models/step/plan_account.hpp"
#include "pricing.hpp"
#include "tests/models/expert_models.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

struct Run {
  std::vector<std::int32_t> lengths_tokens;
  Packing packing;
  std::vector<std::vector<MicroBatch>> batches;
  Schedule schedule;
};

// Packs, and trains two micro-batches a rank and step.
Run run_of(std::vector<std::int32_t> lengths_tokens, std::int64_t capacity_tokens, int n_gpus, int sp_degree,
           const std::string& strategy = "ffd", Padding padding = Padding::none, int epochs = 1) {
  Run run;
  run.lengths_tokens = std::move(lengths_tokens);
  PackRequest request{.lengths_tokens = run.lengths_tokens, .capacities_tokens = {capacity_tokens}};
  request.options.set("batch_samples", 0);
  run.packing = pack(strategy, request);
  run.batches = {micro_batches(run.packing, 0, padding)};
  const std::vector<GroupParallelism> parallelism = {{.gpus_per_pack = sp_degree, .gc_layers = 8}};
  run.schedule = make_schedule(run.batches, run.packing.capacities_tokens, parallelism,
                               {.n_gpus = n_gpus, .micro_batches_per_rank = 2, .epochs = epochs});
  return run;
}

std::vector<std::int32_t> many_lengths() {
  std::vector<std::int32_t> lengths;
  for (int i = 0; i < 2000; ++i) lengths.push_back(20 + (i * 7919) % 3000);
  return lengths;
}

// With 8 checkpointed layers.
std::vector<KernelUse> kernels_of(const Run& run, const ScheduleSampling& sampling = {}, int sp_degree = 1) {
  Pricing pricing(kLlama8b,
                  {.n_gpus = run.schedule.n_gpus, .sequence = {.ulysses = sp_degree}, .gc_layers = 8});
  pricing.pricer.keep_kernels();
  StepPricer* pricer = &pricing.pricer;
  return schedule_kernels({&pricer, 1}, run.packing, run.batches, count_pack_uses(run.batches, run.schedule),
                          sampling);
}

double flop_of(const std::vector<KernelUse>& uses, std::string_view kernel, std::string_view part) {
  double total = 0;
  for (const KernelUse& use : uses) {
    if (use.kernel.kernel() == kernel && use.part == part) total += use.count * kernel_flop(use.kernel);
  }
  return total;
}

struct Trained {
  double tokens = 0;
  double pairs = 0;
};

Trained trained_by(const Run& run) {
  Trained trained;
  for (const Iteration& iteration : run.schedule.iterations) {
    for (const PlacedPack& placed : run.schedule.packs(iteration)) {
      const MicroBatch& batch = run.batches[0][placed.pack];
      trained.tokens += static_cast<double>(batch.tokens + batch.padded_tokens);
      trained.pairs += static_cast<double>(batch.computed_pairs);
    }
  }
  return trained;
}

}  // namespace

TEST_CASE("A schedule's kernels do the work of its tokens and squared lengths, however few stand for it") {
  for (const auto& [strategy, padding] :
       {std::pair{"ffd", Padding::none}, {"isf", Padding::capacity}, {"sorted", Padding::longest}}) {
    const Run run = run_of(many_lengths(), 8192, 4, 1, strategy, padding, 2);
    const Trained trained = trained_by(run);
    for (const int packs : {1, 7, 64, 100000}) {
      CAPTURE(strategy, packs);
      const std::vector<KernelUse> uses = kernels_of(run, {.attention_packs = packs});
      // On the mean of four GPUs.
      // Forward once and backward twice; attention backward 2.5 times.
      CHECK(flop_of(uses, "gemm", "linear") ==
            Approx(3 * trained.tokens / 4 *
                   (kLlama8b.layers_flop_per_token() + kLlama8b.head_flop_per_token())));
      CHECK(flop_of(uses, "gemm", "recompute") ==
            Approx(trained.tokens / 4 * kLlama8b.layers_flop_per_token() / 4));
      CHECK(flop_of(uses, "attention", "attention") ==
            Approx(3.5 * trained.pairs / 4 * kLlama8b.attention_flop_per_pair()));
      CHECK(flop_of(uses, "attention", "recompute") ==
            Approx(trained.pairs / 4 * kLlama8b.attention_flop_per_pair() / 4));
    }
  }
}

TEST_CASE("Few kernels stand for many packs") {
  const Run run = run_of(many_lengths(), 8192, 4, 1, "isf");
  int n_attention = 0;
  int n_heads = 0;
  for (const KernelUse& use : kernels_of(run, {.attention_packs = 10})) {
    n_attention += use.kernel.kernel() == "attention" && use.part == "recompute" ? 1 : 0;
    n_heads +=
        use.kernel.kernel() == "gemm" && use.kernel.text().find(" n=128256 ") != std::string::npos ? 1 : 0;
  }
  CHECK(n_attention <= 10);
  CHECK(n_attention >= 8);
  CHECK(n_heads <= 8);
}

TEST_CASE("A schedule of equal packs has the products of its steps, step after step") {
  // 16 packs of two documents, two ranks of SP 4, two micro-batches: four steps.
  const Run run = run_of(std::vector<std::int32_t>(32, 1024), 2048, 8, 4);
  REQUIRE(run.schedule.iterations.size() == 4);
  StepPlan plan;
  plan.model = kLlama8b;
  plan.gc_layers = 8;
  plan.sequence.ulysses = 4;
  plan.dp_degree = 2;
  plan.micro_batches = {parse_documents("2x1024"), parse_documents("2x1024")};
  std::map<std::string, double> expected;
  for (const KernelUse& use : step_kernels(plan)) {
    if (use.kernel.kernel() == "gemm" || use.kernel.kernel() == "attention")
      expected[use.kernel.text()] += 4 * use.count;
  }
  std::map<std::string, double> counts;
  for (const KernelUse& use : kernels_of(run, {}, 4)) {
    if (expected.contains(use.kernel.text())) counts[use.kernel.text()] += use.count;
  }
  REQUIRE(counts.size() == expected.size());
  for (const auto& [text, count] : expected) {
    CAPTURE(text);
    CHECK(counts[text] == Approx(count));
  }
}

TEST_CASE("Gradients are added on ranks that have more than one micro-batch in an iteration") {
  // Five packs of 1024 on two ranks, two a rank: the second iteration has one pack, on the first rank.
  Run run = run_of(std::vector<std::int32_t>(5, 1024), 1024, 2, 1);
  const std::vector<GroupParallelism> parallelism = {{.gpus_per_pack = 1, .gc_layers = 8}};
  run.schedule =
      make_schedule(run.batches, run.packing.capacities_tokens, parallelism,
                    {.n_gpus = 2, .micro_batches_per_rank = 2, .last_iteration = LastIteration::shorten});
  REQUIRE(run.schedule.iterations.size() == 2);
  const auto summed = [](const std::vector<KernelUse>& uses) {
    double elements = 0;
    for (const KernelUse& use : uses) {
      const bool is_sum = use.kernel.text().starts_with("elementwise op=residual_add pass=fwd");
      // The layers' own additions are of 1024 tokens.
      if (is_sum && use.kernel.integer("rows") != 1024)
        elements += use.count * use.kernel.number("rows") * use.kernel.number("cols");
    }
    return elements;
  };
  // All weights, on each rank once in the first iteration.
  CHECK(summed(kernels_of(run)) == Approx(kLlama8b.parameters()).epsilon(1e-3));
  // One micro-batch a rank and iteration.
  run.schedule = make_schedule(run.batches, run.packing.capacities_tokens, parallelism, {.n_gpus = 2});
  CHECK(summed(kernels_of(run)) == 0);
}

namespace {

struct Feature {
  std::string name;
  Transformer model = kLlama8b;
  ParallelPlan plan = {};
};

std::vector<Feature> features() {
  Transformer windowed = kLlama8b;
  windowed.sliding_window_tokens = 128;
  windowed.n_windowed_layers = 16;
  const SequenceParallelism sp4{.ulysses = 4};
  const ExecutionStyle overlapping{.overlaps_tensor = true};
  const LayerModules some_modules(LayerModule::core_attn);
  return {
      {"data parallel", kLlama8b, {.zero_stage = 0}},
      {"Ulysses, ZeRO 1", kLlama8b, {.sequence = sp4, .gc_layers = 3}},
      {"ZeRO 2", kLlama8b, {.sequence = sp4, .zero_stage = 2}},
      {"ZeRO 3, fp32 gradients", kLlama8b, {.zero_stage = 3, .execution = {.fp32_gradients = true}}},
      {"shard_degree", kLlama8b, {.sequence = sp4, .zero_stage = 3, .shard_degree = 8}},
      {"ring", kLlama8b, {.sequence = {.ulysses = 2, .ring = 4}, .gc_layers = 5}},
      {"ring under windows", windowed, {.sequence = {.ring = 4}, .gc_layers = 5}},
      {"tensor", kLlama8b, {.tp_degree = 4}},
      {"tensor, overlapping", kLlama8b, {.tp_degree = 4, .execution = overlapping}},
      {"pipeline", kLlama8b, {.tp_degree = 2, .pp_degree = 4, .gc_layers = 8}},
      {"pipeline between nodes", kLlama8b, {.tp_degree = 8, .pp_degree = 4, .virtual_stages = 2}},
      {"by operation", kLlama8b, {.gc_layers = 32, .checkpointing = Checkpointing::operations}},
      {"modules",
       kLlama8b,
       {.gc_layers = 32, .checkpointing = Checkpointing::modules, .recomputed_modules = some_modules}},
      {"experts", kQwen3Moe, {.ep_degree = 8, .zero_stage = 2}},
      {"experts, deduplicated",
       kDeepseekV2,
       {.sequence = sp4, .ep_degree = 16, .expert_dispatch = ExpertDispatch::deduplicated, .gc_layers = 20}},
      {"latents sent", kDeepseekV2, {.sequence = sp4, .ep_degree = 8, .latent_exchange = true}},
      {"fp8", kLlama8b, {.gc_layers = 4, .precision = Precision::fp8_current}},
      {"fp8 of blocks, ZeRO 3",
       kDeepseekV2,
       {.ep_degree = 8, .zero_stage = 3, .precision = Precision::fp8_block}},
      {"fp8 gathered", kLlama8b, {.zero_stage = 3, .precision = Precision::fp8_current, .fp8_gather = true}},
      {"LoRA, 4 bits", kLlama8b, {.lora_rank = 16, .frozen_weights = &kNf4}},
      {"tiles", kLlama8b, {.gc_layers = 7, .mlp_tiles = 4, .loss_tiles = 4}},
      {"offload",
       kLlama8b,
       {.zero_stage = 3,
        .gc_layers = 32,
        .offload = {.optimizer = true, .weights = true, .gradients = true, .activations = true}}},
  };
}

}  // namespace

TEST_CASE("The kernels of a schedule are those that its simulated steps ask the profile for") {
  for (Feature& feature : features()) {
    CAPTURE(feature.name);
    ParallelPlan& plan = feature.plan;
    plan.n_gpus = 32;
    Cluster cluster = example_cluster();
    cluster.gpu.peak_flop_per_s = {{"bf16", 1e15}, {"fp8", 2e15}};
    REQUIRE(plan_mistakes(feature.model, cluster, plan).empty());
    // 1024 tokens on each GPU, which are priced exactly; two micro-batches a rank and step.
    const int gpus = plan.sequence_gpus();
    const int sp_degree = plan.sequence.gpus_per_pack();
    const Run run = run_of(std::vector<std::int32_t>(128, 512 * gpus), std::int64_t{1024} * gpus,
                           plan.n_gpus / plan.tp_degree / plan.pp_degree, sp_degree);
    const PackUseCounts counts = count_pack_uses(run.batches, run.schedule);
    Pricing pricing(feature.model, plan);
    pricing.pricer.keep_kernels();
    StepPricer* pricer = &pricing.pricer;
    const std::vector<KernelUse> uses = schedule_kernels({&pricer, 1}, run.packing, run.batches, counts);

    const auto store = std::make_shared<PriceStore>(pricing.profile, pricing.cluster);
    StepPricer simulated(feature.model, pricing.cluster, plan, pricing.profile, {}, store);
    PlanAccount account(simulated);
    const std::vector<std::int32_t> lengths = {512 * gpus, 512 * gpus};
    double n_micro_batches = 0;
    for (const std::uint32_t times : counts.of_pack[0]) {
      account.add_micro_batches(simulated.micro_batch(std::int64_t{1024} * gpus, lengths), times);
      n_micro_batches += times;
    }
    account.add_steps(counts.rank_steps[0], n_micro_batches, counts.later_micro_batches[0]);

    std::set<std::string> listed;
    std::map<std::string, double> time_s;  // by cause, on all GPUs
    for (const KernelUse& use : uses) {
      if (use.kernel.kernel() == "launch_gap") continue;
      if (use.kernel.kernel() == "attention") {
        const AttentionShape shape = attention_shape(feature.model, plan);
        // A ring computes documents part by part.
        const int parts = feature.model.has_windows() ? 1 : plan.sequence.ring;
        CHECK(use.kernel.documents("docs") == Documents{{{2, 512 * gpus / parts}}});
        CHECK(use.kernel.integer("heads") == shape.heads);
        CHECK(use.kernel.integer("kv_heads") == shape.kv_heads);
        CHECK(use.kernel.integer("head_dim") == shape.head_dim);
        continue;
      }
      listed.insert(use.kernel.text());
      time_s[use.part] += plan.n_gpus * use.count * pricing.kernels.time(use.kernel).time_s;
    }
    std::set<std::string> asked;
    for (const std::string& text : store->kernels().asked_for()) asked.insert(text);
    // Both ways between stages are priced, though all stages may be in one node or all in others.
    const std::vector<bool> in_node = simulated.sends_in_node();
    const auto n_in_node = std::count(in_node.begin(), in_node.end() - 1, true);
    if (plan.pp_degree > 1 && n_in_node == 0) asked.erase(simulated.stage_send(1024, 1).kernel.text());
    if (plan.pp_degree > 1 && n_in_node == plan.pp_degree - 1)
      asked.erase(simulated.stage_send(1024, 2).kernel.text());
    if (plan.execution.overlaps_tensor) {
      // The pieces of products beside communication are asked for, too.
      CHECK(std::ranges::includes(asked, listed));
      continue;
    }
    CHECK(listed == asked);
    if (plan.offload.any()) continue;  // part of it has no kernel, or is hidden
    const PriceAccount total = account.total();
    for (const Cause cause : {Cause::linear, Cause::sequence, Cause::tensor, Cause::expert, Cause::pipeline,
                              Cause::states, Cause::optimizer}) {
      CAPTURE(cause_name(cause));
      CHECK(time_s[std::string(cause_name(cause))] == Approx(total.total(cause).time_s));
    }
  }
}

TEST_CASE("Padding is one more document of a pack, and longer rows of a batch of rows") {
  const Run packed = run_of({600, 300}, 1000, 1, 1, "ffd", Padding::capacity);
  CHECK(format_documents(pack_documents(packed.packing, 0, 0, packed.batches[0][0])) == "1x600+1x300+1x100");
  const Run rows = run_of({600, 300}, 1200, 1, 1, "sorted", Padding::longest);
  REQUIRE(rows.batches[0].size() == 1);
  CHECK(format_documents(pack_documents(rows.packing, 0, 0, rows.batches[0][0])) == "2x600");
}

TEST_CASE("Where tokens attend across samples, attention sees a pack as one document") {
  Run packed = run_of({600, 300}, 1000, 1, 1, "ffd", Padding::capacity);
  packed.packing.attention = Attention::across_samples;
  CHECK(format_documents(pack_documents(packed.packing, 0, 0, packed.batches[0][0])) == "1x1000");
}

TEST_CASE("A schedule of no iterations has no kernels") {
  Run run = run_of({100}, 1000, 1, 1);
  run.schedule.iterations.clear();
  CHECK(kernels_of(run).empty());
}
