#include "models/step/tensor_overlap.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "attention_profile.hpp"
#include "expert_models.hpp"
#include "llama_8b.hpp"
#include "models/kernels/make_case.hpp"
#include "models/layers/layer_ops.hpp"
#include "models/step/step_pricer.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using Texts = std::vector<std::string>;

Texts texts(const std::vector<CountedKernel>& kernels) {
  Texts texts;
  for (const CountedKernel& use : kernels) texts.push_back(use.kernel.text());
  return texts;
}

std::size_t nth(const std::vector<LayerOp>& ops, std::string_view op, int n) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].op == op && n-- == 0) return i;
  }
  FAIL("there is none");
  return 0;
}

// The end of a pipeline of pieces by its recursion: a piece is computed with when it has come and the one
// before is done; the first is there.
double ring_end_s(int n, double product_s, double transfer_s) {
  double done = product_s;
  double arrived = 0;
  for (int i = 1; i < n; ++i) {
    arrived += transfer_s;
    done = std::max(done, arrived) + product_s;
  }
  return done;
}

// A piece is sent when it has been computed and the one before is sent.
double scatter_end_s(int n, double product_s, double transfer_s) {
  double sent = 0;
  for (int i = 1; i <= n; ++i) sent = std::max(sent, i * product_s) + transfer_s;
  return sent;
}

Cluster one_node() {
  Cluster cluster{.name = "", .source = "", .gpu = {}};
  cluster.network = {.nvlink_bytes_per_s = 450e9, .nics_per_node = 8, .nic_bytes_per_s = 50e9};
  return cluster;
}

}  // namespace

TEST_CASE("Products beside an exchange: what reads it, what it sends, and gradients") {
  // TP 4 of 256 tokens a GPU: 1024 gathered rows, 1024 columns of queries, 2 x 256 of keys and values, 3584
  // of the MLP.
  const ParallelPlan plan{.n_gpus = 8, .tp_degree = 4};
  const std::vector<LayerOp> ops = layer_forward(kLlama8b, plan, 8, LayerKind::dense, 256);
  const std::size_t gather = nth(ops, "all_gather", 0);
  const std::size_t scatter = nth(ops, "reduce_scatter", 1);

  const ProductsBeside read = products_beside(ops, gather, false);
  CHECK(read.n_pieces == 4);
  CHECK_FALSE(read.piece_first);
  CHECK(texts(read.whole) == texts({{forward_gemm(1024, 1024, 4096)}, {forward_gemm(1024, 256, 4096)}}));
  CHECK(texts(read.piece) == texts({{forward_gemm(256, 1024, 4096)}, {forward_gemm(256, 256, 4096)}}));
  CHECK(read.piece[1].count == 2);

  const ProductsBeside sent = products_beside(ops, scatter, false);
  CHECK(sent.n_pieces == 4);
  CHECK(sent.piece_first);
  CHECK(texts(sent.whole) == texts({{forward_gemm(1024, 4096, 3584)}}));
  CHECK(texts(sent.piece) == texts({{forward_gemm(1024, 1024, 3584)}}));

  const ProductsBeside gathered_back = products_beside(ops, scatter, true);
  CHECK(gathered_back.n_pieces == 4);
  CHECK(texts(gathered_back.whole) == texts({{input_gradient_gemm(1024, 4096, 3584)}}));
  CHECK(texts(gathered_back.piece) == texts({{input_gradient_gemm(256, 4096, 3584)}}));

  const ProductsBeside weights = products_beside(ops, gather, true);
  CHECK(weights.n_pieces == 1);
  CHECK(texts(weights.whole) ==
        texts({{weight_gradient_gemm(1024, 1024, 4096)}, {weight_gradient_gemm(1024, 256, 4096)}}));

  const ParallelPlan frozen{.n_gpus = 8, .tp_degree = 4, .lora_rank = 16};
  const std::vector<LayerOp> lora = layer_forward(kLlama8b, frozen, 8, LayerKind::dense, 256);
  // Of q: its adapter's two products; k and v alike.
  CHECK(products_beside(lora, nth(lora, "all_gather", 0), true).whole.size() == 4);
}

TEST_CASE("What an exchange adds is the end of its pieces' pipeline, and at most its own time") {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> some(0.01, 1);
  for (int i = 0; i < 1000; ++i) {
    const int n = 2 + static_cast<int>(generator() % 7);
    const double exchange_s = some(generator);
    const double whole_s = some(generator);
    const double piece_s = whole_s / n * (1 + some(generator));
    ProductsBeside beside;
    const auto added = [&] { return added_time_s(beside, exchange_s, whole_s, piece_s); };
    // Without pieces the two run side by side.
    CHECK(added() == Approx(std::max(0.0, exchange_s - whole_s)).margin(1e-12));
    const auto expected = [&](double end_s) { return std::min(exchange_s, end_s - whole_s); };
    beside.n_pieces = n;
    CHECK(added() == Approx(expected(ring_end_s(n, piece_s, exchange_s / (n - 1)))).margin(1e-12));
    beside.piece_first = true;
    CHECK(added() == Approx(expected(scatter_end_s(n, piece_s, exchange_s / n))).margin(1e-12));
  }
}

TEST_CASE("Overlapped tensor-parallel exchange shortens the exchanges of layers and nothing else") {
  for (const Transformer& model : {kLlama8b, kDeepseekV2}) {
    for (const int tp : {2, 8}) {
      ParallelPlan plan{.n_gpus = 8, .tp_degree = tp};
      const Cluster cluster = one_node();
      const HardwareProfile profile = attention_profile({"bwd", "fwd"});
      StepPricer waiting(model, cluster, plan, profile, {});
      plan.execution.overlaps_tensor = true;
      StepPricer overlapped(model, cluster, plan, profile, {});
      // The smallest exchanges are not worth cutting a product up.
      for (const std::int64_t tokens : {128, 4096}) {
        const TokenPrices& before = waiting.tokens(tokens);
        const TokenPrices& now = overlapped.tokens(tokens);
        CHECK(now.head_forward.total_ns == before.head_forward.total_ns);
        CHECK(now.embedding_backward.total_ns == before.embedding_backward.total_ns);
        for (const auto phase : {&LayerPrices::forward, &LayerPrices::recompute, &LayerPrices::backward}) {
          const PricedPhase& was = before.layers[0].*phase;
          const PricedPhase& is = now.layers[0].*phase;
          REQUIRE(is.segments.size() == was.segments.size());
          CHECK(is.total_ns <= was.total_ns);
          if (tokens == 4096) CHECK(is.total_ns < was.total_ns);
          for (std::size_t i = 0; i < is.segments.size(); ++i) {
            if (is.segments[i].cause != Cause::tensor) {
              CHECK(is.segments[i].time_ns == was.segments[i].time_ns);
              continue;
            }
            CHECK(is.segments[i].time_ns <= was.segments[i].time_ns);
            // The bytes are of what is left.
            CHECK(static_cast<double>(is.segments[i].bytes) * static_cast<double>(was.segments[i].time_ns) ==
                  Approx(static_cast<double>(was.segments[i].bytes) *
                         static_cast<double>(is.segments[i].time_ns))
                      .epsilon(1e-3)
                      .margin(static_cast<double>(was.segments[i].time_ns)));
          }
        }
        const LayerPrices& layer = now.layers[0];
        const auto tensor = static_cast<std::size_t>(Cause::tensor);
        const std::int64_t passes_ns = layer.forward.by_cause_ns[tensor] + layer.backward.by_cause_ns[tensor];
        CHECK(overlapped.account(tokens).layers[0].passes.total(Cause::tensor).time_s ==
              Approx(1e-9 * static_cast<double>(passes_ns)).margin(1e-8));
      }
    }
  }
}

TEST_CASE("An overlapped exchange costs what its pieces cost beyond the whole product") {
  const ParallelPlan plan{.n_gpus = 8, .tp_degree = 8, .execution = {.overlaps_tensor = true}};
  const Cluster cluster = one_node();
  const HardwareProfile profile = attention_profile({"fwd"});
  StepPricer pricer(kLlama8b, cluster, plan, profile, {});
  KernelPricer kernels(profile, cluster);
  const auto s = [&](const KernelCase& kernel) { return kernels.time(kernel).time_s; };
  // The reduce-scatter behind the down projection: 4 pieces of 1024 columns.
  const std::int64_t rows = 8 * 512;
  const double exchange_s = s(collective_case("reduce_scatter", 8, 1, 2 * rows * 4096));
  const double end_s = scatter_end_s(4, s(forward_gemm(rows, 1024, 14336 / 8)), exchange_s / 4);
  const double added_s = std::min(exchange_s, end_s - s(forward_gemm(rows, 4096, 14336 / 8)));
  const std::vector<PassSegment>& stages = pricer.tokens(512).layers[0].forward.segments;
  const auto last = std::ranges::find_if(
      stages.rbegin(), stages.rend(), [](const PassSegment& stage) { return stage.cause == Cause::tensor; });
  REQUIRE(last != stages.rend());
  CHECK(std::abs(last->time_ns - std::llround(1e9 * added_s)) <= 1);
}
