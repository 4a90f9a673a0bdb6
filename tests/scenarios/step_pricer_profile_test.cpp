#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "models/kernels/make_case.hpp"
#include "models/step/step_pricer.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/shipped_data.hpp"

// The pricer on the hardware profiles that come with packsim.

namespace packsim {
namespace {

using packsim_test::kData;

Cluster h100_nodes() {
  Cluster cluster = load_cluster_type("h100-sxm-80gb", kData);
  cluster.nodes = 16;
  return cluster;
}

double exact_s(KernelPricer& kernels, const std::vector<LayerOp>& ops, bool is_backward) {
  double time_s = 0;
  for (const LayerOp& op : ops) {
    if (op.kind == LayerOp::Kind::attention) continue;
    for (const CountedKernel& use : is_backward ? backward_kernels(op) : forward_kernels(op))
      time_s += use.count * kernels.time(use.kernel).time_s;
  }
  return time_s;
}

TEST_CASE("Random packs take what the profile says of their kernel, whatever the heads") {
  const HardwareProfile profile = load_hardware_profile("h100-sxm-public", kData);
  std::mt19937 generator(1);
  // Measured heads, heads between them, other head_dims.
  for (const AttentionShape& shape : std::vector<AttentionShape>{
           {32, 8, 128}, {4, 1, 128}, {2, 1, 128}, {20, 4, 128}, {32, 32, 64}, {16, 16, 160}}) {
    for (const std::string pass : {"fwd", "bwd"}) {
      AttentionPricer pricer(profile, pass, shape);
      for (int i = 0; i < 100; ++i) {
        std::vector<std::int32_t> lengths(1 + generator() % 20);
        Documents documents;
        for (std::int32_t& length : lengths) {
          length = static_cast<std::int32_t>(1 + generator() % 30000);
          documents.runs.push_back({1, length});
        }
        const KernelTime expected = kernel_time(
            profile, attention_case(pass, documents, shape.heads, shape.kv_heads, shape.head_dim));
        const TimeEstimate price = pricer.pack(lengths);
        REQUIRE(price.time_s == Approx(expected.time_s).epsilon(1e-12));
        REQUIRE(price.evidence == expected.evidence);
      }
    }
  }
}

TEST_CASE("Prices between grid points are those of the kernels, within what the header says") {
  const HardwareProfile profile = load_hardware_profile("h100-sxm-public", kData);
  const Cluster cluster = h100_nodes();
  for (const char* name : {"llama3.1-8b", "qwen2.5-32b", "deepseek-v2"}) {
    const Transformer model = load_model(name, kData);
    ParallelPlan plan{.n_gpus = 64, .tp_degree = 2};
    if (model.has_experts()) plan.ep_degree = 8;
    REQUIRE(plan_mistakes(model, cluster, plan).empty());
    StepPricer pricer(model, cluster, plan, profile, {});
    KernelPricer kernels(profile, cluster);
    std::mt19937 generator(1);
    double sum_of_errors = 0;
    int n = 0;
    int n_wide = 0;
    for (int i = 0; i < 100; ++i) {
      const auto tokens =
          static_cast<std::int64_t>(std::exp2(8 + 9e-5 * static_cast<double>(generator() % 100000)));
      for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
        if (model.n_layers_of(kind) == 0) continue;
        const std::vector<LayerOp> ops = layer_forward(model, plan, cluster.gpus_per_node, kind, tokens);
        const LayerPrices& prices = pricer.tokens(tokens).layers[static_cast<std::size_t>(kind)];
        const double priced_s =
            1e-9 * static_cast<double>(prices.forward.total_ns + prices.backward.total_ns);
        const double error =
            std::abs(priced_s / (exact_s(kernels, ops, false) + exact_s(kernels, ops, true)) - 1);
        CAPTURE(name, tokens);
        REQUIRE(error < 0.003);
        sum_of_errors += error;
        n_wide += error > 0.001 ? 1 : 0;
        ++n;
      }
    }
    CAPTURE(name);
    CHECK(sum_of_errors / n < 1e-4);
    CHECK(n_wide <= n / 100);
  }
}

TEST_CASE("A step of LLaMA 8B with 16 Ki tokens a GPU: seconds, most of them matrix products") {
  const HardwareProfile profile = load_hardware_profile("h100-sxm-public", kData);
  const Cluster cluster = h100_nodes();
  const Transformer model = load_model("llama3.1-8b", kData);
  const ParallelPlan plan{.n_gpus = 32, .gc_layers = 28};
  StepPricer pricer(model, cluster, plan, profile, {});
  const std::vector<std::int32_t> documents(16, 1024);
  const MicroBatchPrice price = pricer.micro_batch(16384, documents);
  const LayerPrices& layer = price.tokens->layers[0];
  const double linear_s = 1e-9 * 32 * static_cast<double>(layer.forward.total_ns + layer.backward.total_ns);
  // 3 x 13.96 GFLOP a token; no more than the 989 TFLOP/s of the data sheet, no less than a third.
  const double flop = 3 * model.layers_flop_per_token() * 16384;
  CHECK(linear_s > flop / 989e12);
  CHECK(linear_s < flop / 330e12);
}

}  // namespace
}  // namespace packsim
