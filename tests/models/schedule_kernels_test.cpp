#include "models/coverage/schedule_kernels.hpp"

#include <catch2/catch.hpp>

#include "llama_8b.hpp"
#include "models/coverage/step_kernels.hpp"

using namespace packsim;
using packsim_test::kLlama8b;

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

Cluster cluster_of(int n_gpus) {
  Cluster cluster;
  cluster.nodes = (n_gpus + 7) / 8;
  return cluster;
}

std::vector<KernelUse> kernels_of(const Run& run, const ScheduleSampling& sampling = {}) {
  return schedule_kernels(kLlama8b, cluster_of(run.schedule.n_gpus), 1, run.packing, run.batches,
                          run.schedule, sampling);
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
      CHECK(flop_of(uses, "gemm", "forward") ==
            Approx(trained.tokens / 4 * (kLlama8b.layers_flop_per_token() + kLlama8b.head_flop_per_token())));
      CHECK(flop_of(uses, "attention", "forward") ==
            Approx(trained.pairs / 4 * kLlama8b.attention_flop_per_pair()));
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
    n_attention += use.kernel.kernel() == "attention" && use.part == "forward" ? 1 : 0;
    n_heads += use.part == "forward" && use.kernel.text().find(" n=128256 ") != std::string::npos ? 1 : 0;
  }
  CHECK(n_attention <= 10);
  CHECK(n_attention >= 8);
  CHECK(n_heads <= 8);
}

TEST_CASE("A schedule of equal packs has the kernels of its steps, step after step") {
  // 16 packs of two documents, two ranks of SP 4, two micro-batches: four steps.
  const Run run = run_of(std::vector<std::int32_t>(32, 1024), 2048, 8, 4);
  REQUIRE(run.schedule.iterations.size() == 4);
  StepPlan plan;
  plan.model = kLlama8b;
  plan.gc_layers = 8;
  plan.sequence.ulysses = 4;
  plan.dp_degree = 2;
  plan.micro_batches = {parse_documents("2x1024"), parse_documents("2x1024")};
  const std::vector<KernelUse> step = step_kernels(plan);
  const std::vector<KernelUse> uses = kernels_of(run);
  REQUIRE(uses.size() == step.size());
  for (const KernelUse& expected : step) {
    CAPTURE(expected.kernel.text(), expected.part);
    const auto same = [&](const KernelUse& use) {
      return use.kernel == expected.kernel && use.part == expected.part;
    };
    const auto at = std::ranges::find_if(uses, same);
    REQUIRE(at != uses.end());
    CHECK(at->count == Approx(4 * expected.count));
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
  const auto head_sums = [](const std::vector<KernelUse>& uses) {
    for (const KernelUse& use : uses) {
      if (use.kernel.text() == "elementwise op=residual_add pass=fwd rows=128256 cols=4096 cache=cold")
        return use.count;
    }
    return 0.0;
  };
  // Of the head and of the embedding, on each rank once in the first iteration.
  CHECK(head_sums(kernels_of(run)) == Approx(2));
  // One micro-batch a rank and iteration.
  run.schedule = make_schedule(run.batches, run.packing.capacities_tokens, parallelism, {.n_gpus = 2});
  CHECK(head_sums(kernels_of(run)) == 0);
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
