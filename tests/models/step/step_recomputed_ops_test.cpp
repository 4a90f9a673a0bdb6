#include "models/layers/layer_ops.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/step/layer_op_sums.hpp"

using namespace packsim;
using namespace packsim_test;

TEST_CASE("Recomputation: all of a layer, less its last product, or attention alone") {
  ParallelPlan plan = plan_of(2, 4);
  const Ops whole = forward(kLlama8b, plan);
  const auto recomputed = [&](LayerKind kind = LayerKind::dense, const Transformer& model = kLlama8b) {
    return layer_recompute(model, plan, 8, kind, kTokens);
  };
  CHECK(recomputed().size() == whole.size());
  CHECK(flop(recomputed()) == flop(whole));
  for (const LayerOp& op : recomputed()) CHECK((op.cause != Cause::linear && op.cause != Cause::attention));
  CHECK(payload(recomputed(), Cause::sequence) == payload(whole, Cause::sequence));

  plan.execution.recompute_stops_early = true;
  // Without down, its reduce-scatter and the residual add.
  CHECK(recomputed().size() == whole.size() - 3);
  CHECK(flop(whole) - flop(recomputed()) == 2.0 * kTokens * 14336 * 4096);
  // The norm of down's output needs it: without the residual add alone.
  Transformer normed = kLlama8b;
  normed.output_norms = true;
  CHECK(recomputed(LayerKind::dense, normed).size() == forward(normed, plan).size() - 1);
  plan.lora_rank = 8;
  // The adapter's second product alone: the first one's output has a gradient.
  const Ops adapted = forward(kLlama8b, plan);
  CHECK(flop(adapted) - flop(recomputed()) == 2.0 * kTokens * 8 * 4096 * 2);
  plan.lora_rank = 0;
  // Behind the experts' products their outputs are weighed.
  plan = plan_of(1, 4, 4);
  plan.execution.recompute_stops_early = true;
  CHECK(recomputed(LayerKind::expert, kQwen3Moe).size() ==
        forward(kQwen3Moe, plan, LayerKind::expert).size());

  plan.checkpointing = Checkpointing::selective;
  const Ops selective = recomputed();
  REQUIRE(selective.size() == 1);
  CHECK(selective[0].kind == LayerOp::Kind::attention);
  CHECK(selective[0].cause == Cause::recompute);
}

namespace {

// What is recomputed: elementwise kernels by name, products by their output's columns.
std::vector<std::string> names_of(const Ops& ops) {
  std::vector<std::string> names;
  for (const LayerOp& op : ops) {
    if (op.kind == LayerOp::Kind::attention) names.emplace_back("attention");
    if (op.kind == LayerOp::Kind::copy) names.emplace_back("copy");
    if (op.kind == LayerOp::Kind::elementwise || op.kind == LayerOp::Kind::exchange)
      names.emplace_back(op.op);
    if (op.kind == LayerOp::Kind::linear) names.push_back("product " + std::to_string(op.out));
    for (int more = 1; more < op.count; ++more) names.push_back(names.back());
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("By operation every second product is recomputed: k, o and up of q, k, v, o, gate, up, down") {
  ParallelPlan plan = plan_of(1, 1);
  plan.checkpointing = Checkpointing::operations;
  const auto recomputed = [&](LayerKind kind = LayerKind::dense, const Transformer& model = kLlama8b) {
    return names_of(layer_recompute(model, plan, 8, kind, kTokens));
  };
  Names names = {"rms_norm",     "product 1024", "rope",          "rope",   "product 4096",
                 "residual_add", "rms_norm",     "product 14336", "swiglu", "residual_add"};
  CHECK(recomputed() == names);
  // Nothing behind swiglu is needed.
  plan.execution.recompute_stops_early = true;
  names.pop_back();
  CHECK(recomputed() == names);
  CHECK_FALSE(plan.recomputes_attention());
  // All-gathers run again, reduce-scatters and all-to-alls do not.
  plan = plan_of(2, 2);
  plan.checkpointing = Checkpointing::operations;
  for (const LayerOp& op : layer_recompute(kLlama8b, plan, 8, LayerKind::dense, kTokens))
    CHECK((op.kind != LayerOp::Kind::exchange || op.op == "all_gather"));
  // The router's product is the fifth; the experts' all run again.
  plan = plan_of(1, 1);
  plan.checkpointing = Checkpointing::operations;
  const Names experts = recomputed(LayerKind::expert, kQwen3Moe);
  CHECK(std::ranges::count(experts, "product 128") == 0);
  CHECK(std::ranges::count(experts, "product 768") == 2 * 128);
  CHECK(std::ranges::count(experts, "product 2048") == 1 + 128);  // o, and down
}

TEST_CASE("Modules recompute their own kernels") {
  ParallelPlan plan = plan_of(1, 1);
  plan.checkpointing = Checkpointing::modules;
  const auto recomputed = [&](LayerModules modules, LayerKind kind, const Transformer& model) {
    plan.recomputed_modules = modules;
    return names_of(layer_recompute(model, plan, 8, kind, kTokens));
  };
  const auto of = [](LayerModule module) { return LayerModules(module); };
  CHECK(recomputed(of(LayerModule::layernorm), LayerKind::dense, kLlama8b) == Names{"rms_norm", "rms_norm"});
  CHECK(recomputed(of(LayerModule::core_attn), LayerKind::dense, kLlama8b) == Names{"attention"});
  CHECK(recomputed(of(LayerModule::mlp), LayerKind::dense, kLlama8b) ==
        Names{"product 14336", "product 14336", "swiglu", "product 4096"});
  CHECK(recomputed(of(LayerModule::moe), LayerKind::dense, kDeepseekV2).empty());
  CHECK(recomputed(of(LayerModule::moe_act), LayerKind::expert, kQwen3Moe) == Names(128, "swiglu"));
  CHECK(recomputed(of(LayerModule::mla_up_proj), LayerKind::dense, kDeepseekV2) ==
        Names{"product 24576", "rope", "rope", "product 32768"});
  CHECK(recomputed(LayerModules(LayerModule::layernorm, LayerModule::core_attn), LayerKind::dense,
                   kLlama8b) == Names{"rms_norm", "attention", "rms_norm"});
  plan.execution.recompute_stops_early = true;
  CHECK(recomputed(of(LayerModule::mlp), LayerKind::dense, kLlama8b) ==
        Names{"product 14336", "product 14336", "swiglu"});
}
