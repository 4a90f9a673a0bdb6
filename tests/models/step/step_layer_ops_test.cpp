#include "models/layers/layer_ops.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "models/coverage/step_kernels.hpp"
#include "models/layers/linear_layers.hpp"
#include "models/memory/activations.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using Ops = std::vector<LayerOp>;
using Kernels = std::function<std::vector<CountedKernel>(const LayerOp&)>;

double flop(const Ops& ops, const Kernels& kernels = forward_kernels) {
  double flop = 0;
  for (const LayerOp& op : ops) {
    if (op.kind != LayerOp::Kind::linear) continue;
    for (const CountedKernel& use : kernels(op)) flop += use.count * kernel_flop(use.kernel);
  }
  return flop;
}

// Payload of the exchanges with a cause.
double payload(const Ops& ops, Cause cause, std::string_view op = "") {
  double bytes = 0;
  for (const LayerOp& each : ops) {
    if (each.kind == LayerOp::Kind::exchange && each.cause == cause && (op.empty() || each.op == op))
      bytes += static_cast<double>(each.bytes) * each.count;
  }
  return bytes;
}

ParallelPlan plan_of(int tp, int sp, int ep = 1) {
  ParallelPlan plan;
  plan.tp_degree = tp;
  plan.sequence.ulysses = sp;
  plan.ep_degree = ep;
  plan.n_gpus = 64;
  return plan;
}

constexpr std::int64_t kTokens =
    3840;  // of a GPU; whole numbers of them go to every expert of every model here

Ops forward(const Transformer& model, const ParallelPlan& plan, LayerKind kind = LayerKind::dense) {
  return layer_forward(model, plan, 8, kind, kTokens);
}

// Of a layer, for one token, over all GPUs that share its sequence.
double flop_per_token(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  return flop(forward(model, plan, kind)) / kTokens;
}

}  // namespace

TEST_CASE("A layer's products add up to the model's flop a token, however it is cut") {
  // LLaMA 8B: q and o 4096 x 4096, k and v 4096 x 1024, gate, up and down 4096 x 14336, 2 flop a weight.
  const double llama = 2.0 * 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336);
  CHECK(32 * llama == kLlama8b.layers_flop_per_token());
  for (const int tp : {1, 2, 4, 8}) {
    for (const int sp : {1, 2, 4}) {
      CAPTURE(tp, sp);
      CHECK(flop_per_token(kLlama8b, plan_of(tp, sp), LayerKind::dense) == Approx(llama).epsilon(1e-12));
    }
  }
  // 16 GPUs for 8 key-value heads: each is made twice.
  CHECK(flop_per_token(kLlama8b, plan_of(16, 1), LayerKind::dense) ==
        Approx(llama + 2.0 * 4096 * 2 * 1024).epsilon(1e-12));
}

TEST_CASE("Experts see the tokens that are sent to them, wherever they are") {
  for (const Transformer* model : {&kQwen3Moe, &kDeepseekV2, &kTinyMixture}) {
    const double active = 2 * model->active_layer_matmul_parameters(LayerKind::expert);
    for (const int ep : {1, 2, 4, 8}) {
      for (const int sp : {1, 4}) {
        CAPTURE(model->name, ep, sp);
        CHECK(flop_per_token(*model, plan_of(1, sp, ep), LayerKind::expert) == Approx(active).epsilon(1e-12));
      }
    }
  }
  // By hand, Qwen3: 128 experts of 768, 8 a token; of the 3840 tokens each sees 240, on 8 GPUs 8 x 240 are
  // sent to each of the 16 that a GPU has.
  const Ops ops = forward(kQwen3Moe, plan_of(1, 1, 8), LayerKind::expert);
  int n_expert_products = 0;
  for (const LayerOp& op : ops) {
    if (op.kind != LayerOp::Kind::linear || (op.out != 768 && op.in != 768)) continue;
    CHECK(op.rows == 8 * 240);
    CHECK(op.count == (op.out == 768 ? 2 * 16 : 16));
    ++n_expert_products;
  }
  CHECK(n_expert_products == 2);
}

TEST_CASE("Tensor parallelism makes the latents on every GPU, and cuts the rest") {
  const double whole = 2 * kDeepseekV2.active_layer_matmul_parameters(LayerKind::dense);
  // q_a 5120 x 1536 and kv_a 5120 x (512 + 64).
  const double latents = 2.0 * 5120 * (1536 + 512 + 64);
  for (const int tp : {1, 2, 4}) {
    for (const bool latent_exchange : {false, true}) {
      ParallelPlan plan = plan_of(tp, 4);
      plan.latent_exchange = latent_exchange;
      CAPTURE(tp, latent_exchange);
      CHECK(flop_per_token(kDeepseekV2, plan, LayerKind::dense) ==
            Approx(whole + (tp - 1) * latents).epsilon(1e-12));
    }
  }
  // Queries from the hidden state: no q_a.
  CHECK(flop_per_token(kTinyLatent, plan_of(1, 2), LayerKind::dense) ==
        Approx(2 * kTinyLatent.active_layer_matmul_parameters(LayerKind::dense)).epsilon(1e-12));
}

TEST_CASE("Backward every product is two, one where the weight is frozen") {
  for (const Transformer* model : {&kLlama8b, &kDeepseekV2}) {
    ParallelPlan plan = plan_of(2, 2);
    const Ops ops = forward(*model, plan);
    CHECK(flop(ops, backward_kernels) == Approx(2 * flop(ops)));
    plan.lora_rank = 16;
    double adapters = 0;
    const Ops with_adapters = forward(*model, plan);
    for (const LayerOp& op : ops) {
      if (op.kind == LayerOp::Kind::linear)
        adapters += 2.0 * op.count * 16 * static_cast<double>(op.rows * (op.in + op.out));
    }
    CHECK(flop(with_adapters) == Approx(flop(ops) + adapters));
    CHECK(flop(with_adapters, backward_kernels) == Approx(flop(ops) + 2 * adapters));
  }
}

TEST_CASE("Ulysses exchanges: bytes a token and layer by hand") {
  const auto per_token = [](const Transformer& model, const ParallelPlan& plan) {
    return payload(forward(model, plan), Cause::sequence) / kTokens;
  };
  CHECK(per_token(kLlama8b, plan_of(1, 1)) == 0);
  // 2 bytes x 128 x (2 x 32 heads of q and o, 2 x 8 of k and v); on 16 GPUs each key-value head twice.
  for (const int sp : {2, 4, 8}) CHECK(per_token(kLlama8b, plan_of(1, sp)) == 20480);
  CHECK(per_token(kLlama8b, plan_of(1, 16)) == 24576);
  CHECK(per_token(kLlama8b, plan_of(1, 32)) == 32768);
  // Tensor parallelism: a half of the heads of twice the tokens.
  CHECK(per_token(kLlama8b, plan_of(2, 4)) == 20480);
  // Two GPUs of 8 key-value heads hold 4; 8 more each twice.
  CHECK(per_token(kLlama8b, plan_of(2, 8)) == 24576);
  // 2 x 128 heads x (192 + 192 + 128 + 128).
  CHECK(per_token(kDeepseekV2, plan_of(1, 8)) == 163840);
  // Queries and outputs, and 2 x (512 + 64) of each of 8 GPUs' tokens.
  ParallelPlan latent = plan_of(1, 8);
  latent.latent_exchange = true;
  CHECK(per_token(kDeepseekV2, latent) == 2 * 128 * (192 + 128) + 8 * 1152);
  CHECK(payload(forward(kDeepseekV2, latent), Cause::sequence, "all_gather") / kTokens == 8 * 1152);
}

TEST_CASE("Every all-to-all of Ulysses comes with one copy of its bytes") {
  for (const Transformer* model : {&kLlama8b, &kDeepseekV2}) {
    std::map<std::int64_t, int> copies;
    for (const LayerOp& op : forward(*model, plan_of(1, 8))) {
      if (op.cause != Cause::sequence) continue;
      copies[op.bytes] += op.kind == LayerOp::Kind::copy ? 1 : -1;
      CHECK((op.kind == LayerOp::Kind::copy || op.op == "all_to_all"));
    }
    for (const auto& [bytes, n] : copies) CHECK(n == 0);
  }
}

TEST_CASE("Tensor parallelism gathers and scatters the hidden states around either block") {
  const Ops ops = forward(kLlama8b, plan_of(4, 1));
  // 2 bytes x 4096 of the group's tokens.
  CHECK(payload(ops, Cause::tensor, "all_gather") == 2 * 2.0 * 4096 * 4 * kTokens);
  CHECK(payload(ops, Cause::tensor, "reduce_scatter") == 2 * 2.0 * 4096 * 4 * kTokens);
  CHECK(payload(forward(kLlama8b, plan_of(1, 4)), Cause::tensor) == 0);
  // The embedding adds up what each GPU's part of the vocabulary gives, the head gathers all tokens.
  const Ops embedding = embedding_forward(kLlama8b, plan_of(4, 1), 8, kTokens);
  CHECK(payload(embedding, Cause::tensor, "reduce_scatter") == 2.0 * 4096 * 4 * kTokens);
  CHECK(embedding.front().rows == 4 * kTokens);
  CHECK(embedding_forward(kLlama8b, plan_of(1, 4), 8, kTokens).size() == 1);
  const Ops head = head_forward(kLlama8b, plan_of(4, 1), 8, kTokens);
  CHECK(payload(head, Cause::tensor, "all_gather") == 2.0 * 4096 * 4 * kTokens);
  CHECK(flop(head) == kTokens * kLlama8b.head_flop_per_token());
}

TEST_CASE("Experts: every token goes to as many GPUs as it has experts, and back") {
  const Ops ops = forward(kDeepseekV2, plan_of(1, 1, 8), LayerKind::expert);
  CHECK(payload(ops, Cause::expert) == 2 * 2.0 * kTokens * 6 * 5120);
  CHECK(payload(forward(kDeepseekV2, plan_of(1, 1, 1), LayerKind::expert), Cause::expert) == 0);
}

TEST_CASE("Experts: tokens are sorted by GPU before they are sent, and by expert after that") {
  const auto copies = [](const Transformer& model, const ParallelPlan& plan) {
    double bytes = 0;
    for (const LayerOp& op : forward(model, plan, LayerKind::expert)) {
      if (op.kind == LayerOp::Kind::copy && op.cause == Cause::expert) bytes += static_cast<double>(op.bytes);
    }
    return bytes / (2.0 * kTokens * 6 * 5120);
  };
  // 160 experts: sent and back, twice each where a GPU has several.
  CHECK(copies(kDeepseekV2, plan_of(1, 1, 1)) == 2);
  CHECK(copies(kDeepseekV2, plan_of(1, 1, 8)) == 4);
  CHECK(copies(kDeepseekV2, plan_of(1, 1, 160)) == 2);
  ParallelPlan deduplicated = plan_of(1, 1, 8);
  deduplicated.expert_dispatch = ExpertDispatch::deduplicated;
  CHECK(copies(kDeepseekV2, deduplicated) == 2);
}

TEST_CASE("Experts: deduplicated, a token is sent once to each GPU or node with any of its experts") {
  Transformer model = kDeepseekV2;
  ParallelPlan plan = plan_of(1, 1, 2);
  plan.expert_dispatch = ExpertDispatch::deduplicated;
  const auto sent = [&] { return payload(forward(model, plan, LayerKind::expert), Cause::expert); };
  const double once = 2 * 2.0 * kTokens * 5120;
  // Two of four experts on two GPUs: of 6 pairs 2 are on one GPU, so 4/6 x 2 + 2/6 x 1 GPUs.
  model.experts.n_routed = 4;
  model.experts.per_token = 2;
  CHECK(sent() == Approx(once * 10 / 6));
  // All four: both GPUs, always.
  model.experts.per_token = 4;
  CHECK(sent() == Approx(once * 2));
  // One expert: one GPU.
  model.experts.per_token = 1;
  CHECK(sent() == Approx(once));
  // Over two nodes of 8 GPUs the nodes count: 3 of 16 experts miss a node of 8 in 2 x 56 of 560 cases.
  model.experts.n_routed = 16;
  model.experts.per_token = 3;
  plan = plan_of(1, 1, 16);
  plan.expert_dispatch = ExpertDispatch::deduplicated;
  CHECK(sent() == Approx(once * (2 - 112.0 / 560)));
  // However uneven the load is, a GPU gets a token once at most.
  plan.expert_imbalance = 16.0 / 3;
  CHECK(sent() == Approx(once * 2));
  // Never more than a token has experts, nor than there are GPUs.
  for (const int experts : {8, 64, 256}) {
    for (const int per_token : {1, 2, 6, 8}) {
      for (const int ep : {2, 8, 64}) {
        if (ep > experts) continue;
        model.experts.n_routed = experts;
        model.experts.per_token = per_token;
        plan = plan_of(1, 1, ep);
        plan.expert_dispatch = ExpertDispatch::deduplicated;
        CAPTURE(experts, per_token, ep);
        CHECK(sent() <= once * std::min(per_token, ep) * (1 + 1e-9));
        CHECK(sent() >= once * (1 - 1e-9));
      }
    }
  }
}

TEST_CASE("Experts: the GPU with most tokens has as many more rows, and sends and keeps as many more") {
  const ParallelPlan even = plan_of(1, 1, 8);
  ParallelPlan uneven = even;
  uneven.expert_imbalance = 1.5;
  const auto expert_flop = [](const ParallelPlan& plan) {
    double sum = 0;
    for (const LayerOp& op : forward(kQwen3Moe, plan, LayerKind::expert)) {
      if (op.kind == LayerOp::Kind::linear && (op.out == 768 || op.in == 768))
        sum += op.count * static_cast<double>(op.rows * op.out * op.in);
    }
    return sum;
  };
  CHECK(expert_flop(uneven) == Approx(1.5 * expert_flop(even)));
  const auto sent = [](const ParallelPlan& plan) {
    return payload(forward(kQwen3Moe, plan, LayerKind::expert), Cause::expert);
  };
  CHECK(sent(uneven) == Approx(1.5 * sent(even)));
  const auto kept = [](const ParallelPlan& plan) {
    return layer_activations(kQwen3Moe, plan, LayerKind::expert, true).kept_bytes;
  };
  // Half of 8 rows a token more, of their input and output (2048 each) and of gate, up and product (768).
  CHECK(kept(uneven) - kept(even) == Approx(4 * 2.0 * (2 * 2048 + 3 * 768)));
}

TEST_CASE("Nodes of a group") {
  CHECK(nodes_of_group(8, 1, 8) == 1);
  CHECK(nodes_of_group(8, 2, 8) == 2);
  CHECK(nodes_of_group(4, 8, 8) == 4);
  CHECK(nodes_of_group(4, 16, 8) == 4);
  CHECK(nodes_of_group(1, 64, 8) == 1);
  // A tensor-parallel group of 4 and a Ulysses group of 8 across four of these: 32 GPUs, 4 nodes.
  for (const LayerOp& op : forward(kLlama8b, plan_of(4, 8))) {
    if (op.kind != LayerOp::Kind::exchange) continue;
    CHECK(op.gpus == (op.cause == Cause::tensor ? 4 : 8));
    CHECK(op.nodes == (op.cause == Cause::tensor ? 1 : 4));
  }
}

TEST_CASE("Exchanges are transposed backward, and cost the same bytes") {
  for (const LayerOp& op : forward(
           kDeepseekV2,
           [] {
             ParallelPlan plan = plan_of(2, 4, 4);
             plan.latent_exchange = true;
             return plan;
           }(),
           LayerKind::expert)) {
    if (op.kind != LayerOp::Kind::exchange) continue;
    const KernelCase there = forward_kernels(op).at(0).kernel;
    const KernelCase back = backward_kernels(op).at(0).kernel;
    const std::string& name = there.value("op");
    CHECK(back.value("op") == (name == "all_gather"       ? "reduce_scatter"
                               : name == "reduce_scatter" ? "all_gather"
                                                          : name));
    CHECK(back.value("bytes") == there.value("bytes"));
    CHECK(back.value("gpus") == there.value("gpus"));
  }
}

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

TEST_CASE("Adapters are beside the modules that are named, and all matrices are frozen") {
  ParallelPlan plan = plan_of(1, 1);
  plan.lora_rank = 16;
  const auto products = [&](const Transformer& model, LayerKind kind) {
    double frozen = 0;
    double adapters = 0;
    for (const LayerOp& op : forward(model, plan, kind))
      if (op.kind == LayerOp::Kind::linear) (op.frozen ? frozen : adapters) += op.count;
    return std::pair(frozen, adapters);
  };
  CHECK(products(kLlama8b, LayerKind::dense) == std::pair(7.0, 14.0));
  plan.lora_targets.add(0);  // q_proj
  plan.lora_targets.add(2);  // v_proj, which otherwise runs with k as one
  CHECK(products(kLlama8b, LayerKind::dense) == std::pair(7.0, 4.0));
  // q, k, v, o, the router and three of each of 128 experts; down_proj stands for every expert's.
  plan.lora_targets = {};
  plan.lora_targets.add(6);
  CHECK(products(kQwen3Moe, LayerKind::expert) == std::pair(5.0 + 3 * 128, 2.0 * 128));
}

TEST_CASE("Frozen weights of 4 bits are made bf16 in each pass") {
  ParallelPlan plan = plan_of(1, 1);
  plan.lora_rank = 16;
  plan.frozen_weights = FrozenWeights::nf4;
  for (const Kernels& kernels : {Kernels(forward_kernels), Kernels(backward_kernels)}) {
    double bytes = 0;
    for (const LayerOp& op : forward(kLlama8b, plan)) {
      if (op.kind != LayerOp::Kind::linear) continue;
      for (const CountedKernel& use : kernels(op))
        if (use.kernel.kernel() == "copy") bytes += use.count * kernel_bytes(use.kernel);
    }
    // Reads 0.516 bytes a value and writes 2.
    CHECK(bytes == Approx((kNf4Bytes + 2) * (kLlama8b.layer_parameters() - 2 * 4096)));
  }
}

TEST_CASE("In fp8 a layer quantises each input once, and the gradients of outputs") {
  ParallelPlan plan = plan_of(1, 1);
  plan.precision = Precision::fp8_delayed;
  const auto copied = [&](const Kernels& kernels) {
    double bytes = 0;
    for (const LayerOp& op : forward(kLlama8b, plan)) {
      if (op.kind != LayerOp::Kind::linear) continue;
      CHECK(op.dtype == "fp8");
      for (const CountedKernel& use : kernels(op))
        if (use.kernel.kernel() == "copy") bytes += use.count * kernel_bytes(use.kernel);
    }
    return bytes / kTokens;
  };
  // 4 bytes a value: of q, k, v together, o, gate and up together, down; of the gradients of all seven.
  const double outputs = 4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096;
  CHECK(copied(forward_kernels) == 4.0 * (3 * 4096 + 14336));
  CHECK(copied(backward_kernels) == 4.0 * outputs);
  // The largest value first: 2 bytes more.
  plan.precision = Precision::fp8_current;
  CHECK(copied(forward_kernels) == 6.0 * (3 * 4096 + 14336));
  // Weights that are gathered in bf16 are quantised in either pass; those of fp8 are not.
  plan.zero_stage = 3;
  const double weights = 4096.0 * (2 * 4096 + 2 * 1024 + 3 * 14336);
  plan.precision = Precision::fp8_delayed;
  CHECK(copied(forward_kernels) == Approx(4.0 * (3 * 4096 + 14336) + 4 * weights / kTokens));
  CHECK(copied(backward_kernels) == Approx(4.0 * outputs + 4 * weights / kTokens));
  plan.fp8_gather = true;
  CHECK(copied(forward_kernels) == 4.0 * (3 * 4096 + 14336));
  // Adapters, routers and the head stay in bf16.
  plan.lora_rank = 8;
  int n_bf16 = 0;
  for (const LayerOp& op : forward(kLlama8b, plan))
    if (op.kind == LayerOp::Kind::linear && op.dtype == "bf16") ++n_bf16;
  CHECK(n_bf16 == 2 * 5);
  for (const LayerOp& op : forward(kQwen3Moe, plan, LayerKind::expert))
    if (op.out == 128 && op.kind == LayerOp::Kind::linear) CHECK(op.dtype == "bf16");
  for (const LayerOp& op : head_forward(kLlama8b, plan, 8, kTokens)) CHECK(op.dtype == "bf16");
}

TEST_CASE("Query and key norms, norms of outputs, shared experts and their gate are there") {
  const auto count = [](const Ops& ops, std::string_view op) {
    double n = 0;
    for (const LayerOp& each : ops) n += each.op == op ? each.count : 0;
    return n;
  };
  CHECK(count(forward(kLlama8b, plan_of(1, 1)), "rms_norm") == 2);
  CHECK(count(forward(kQwen3Moe, plan_of(1, 1), LayerKind::expert), "rms_norm") == 4);
  Transformer normed = kLlama8b;
  normed.output_norms = true;
  CHECK(count(forward(normed, plan_of(1, 1)), "rms_norm") == 4);
  CHECK(count(forward(kDeepseekV2, plan_of(1, 1)), "rms_norm") == 4);  // with both latents'
  CHECK(count(forward(kTinyLatent, plan_of(1, 1)), "rms_norm") == 3);
  CHECK(count(forward(kLlama8b, plan_of(1, 1)), "residual_add") == 2);
  CHECK(count(forward(kDeepseekV2, plan_of(1, 1), LayerKind::expert), "residual_add") == 3);
  CHECK(count(forward(kDeepseekV2, plan_of(1, 1), LayerKind::expert), "swiglu") == 160 + 1);
}

TEST_CASE("Rotary positions: of all queries and keys, of latent attention of their rotated parts") {
  const auto values = [](const Transformer& model) {
    double sum = 0;
    for (const LayerOp& op : forward(model, plan_of(1, 1))) {
      if (op.op == "rope") sum += static_cast<double>(op.rows * op.out);
    }
    return sum / kTokens;
  };
  CHECK(values(kLlama8b) == 128 * (32 + 8));
  CHECK(values(kDeepseekV2) == 64 * (128 + 1));
}

TEST_CASE("What attention sees of the heads") {
  CHECK(attention_shape(kLlama8b, plan_of(1, 1)) == AttentionShape{32, 8, 128});
  CHECK(attention_shape(kLlama8b, plan_of(2, 2)) == AttentionShape{8, 2, 128});
  CHECK(attention_shape(kLlama8b, plan_of(2, 8)) == AttentionShape{2, 1, 128});
  // Keys of 192, values of 128.
  CHECK(attention_shape(kDeepseekV2, plan_of(2, 8)) == AttentionShape{8, 8, 160});
}

namespace {

using Counts = std::map<std::string, double>;  // by part and kernel

void count(Counts& counts, const std::string& part, const Ops& ops, const Kernels& kernels, double times) {
  for (const LayerOp& op : ops) {
    if (op.kind == LayerOp::Kind::attention) continue;
    for (const CountedKernel& use : kernels(op)) counts[part + " " + use.kernel.text()] += times * use.count;
  }
}

}  // namespace

TEST_CASE("Data parallel x Ulysses: the same kernels, as often, as the step that is measured and validated") {
  std::mt19937 generator(1);
  const auto below = [&](int n) { return static_cast<int>(generator() % static_cast<std::uint32_t>(n)); };
  for (int i = 0; i < 300; ++i) {
    Transformer model = kLlama8b;
    model.n_layers = 1 + below(5);
    model.n_kv_heads = 1 << below(4);
    model.n_heads = model.n_kv_heads << below(4);
    model.head_dim = 32 * (1 + below(4));
    model.hidden_size = 64 * (1 + below(40));
    model.ffn_size = 32 * (1 + below(200));
    StepPlan step;
    step.model = model;
    step.sequence.ulysses = 1 << below(5);
    if (model.n_heads % step.sequence.ulysses != 0) continue;
    step.dp_degree = 1 + below(3);
    step.gc_layers = below(model.n_layers + 1);
    step.execution.recompute_stops_early = below(2) == 0;
    // One: later ones' gradients are added up, which no layer does.
    step.micro_batches = {{.runs = {{1 + below(5), 1 + below(3000)}}}};
    CAPTURE(i, step.sequence.ulysses, model.n_heads, model.n_kv_heads, step.gc_layers);

    ParallelPlan plan;
    plan.n_gpus = step.sequence.ulysses * step.dp_degree;
    plan.sequence.ulysses = step.sequence.ulysses;
    plan.execution.recompute_stops_early = step.execution.recompute_stops_early;
    Counts counts;
    for (const Documents& documents : step.micro_batches) {
      const std::int64_t tokens = (documents.tokens() + step.sequence.ulysses - 1) / step.sequence.ulysses;
      const Ops layer = layer_forward(model, plan, 8, LayerKind::dense, tokens);
      const Ops again = layer_recompute(model, plan, 8, LayerKind::dense, tokens);
      const Ops embedding = embedding_forward(model, plan, 8, tokens);
      const Ops head = head_forward(model, plan, 8, tokens);
      for (const Ops& ops : {embedding, head}) {
        count(counts, "forward", ops, forward_kernels, 1);
        count(counts, "backward", ops, backward_kernels, 1);
      }
      count(counts, "forward", layer, forward_kernels, model.n_layers);
      count(counts, "backward", layer, backward_kernels, model.n_layers);
      if (step.gc_layers > 0) count(counts, "recompute", again, forward_kernels, step.gc_layers);
    }
    Counts expected;
    for (const KernelUse& use : step_kernels(step)) {
      const bool is_layer = use.part == "forward" || use.part == "recompute" || use.part == "backward";
      const bool is_state = use.kernel.kernel() == "collective" && use.kernel.value("op") != "all_to_all";
      if (is_layer && !is_state && use.kernel.kernel() != "attention")
        expected[use.part + " " + use.kernel.text()] += use.count;
    }
    std::string differences;
    for (const auto& [kernel, n] : expected) {
      if (counts.count(kernel) == 0 || counts.at(kernel) != n)
        differences += kernel + ": " + std::to_string(counts[kernel]) + " for " + std::to_string(n) + "\n";
    }
    REQUIRE(differences == "");
    REQUIRE(counts == expected);
  }
}
