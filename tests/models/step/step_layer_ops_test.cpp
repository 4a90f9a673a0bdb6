#include "models/layers/layer_ops.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>

#include "models/kernels/make_case.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/step/layer_op_sums.hpp"

using namespace packsim;
using namespace packsim_test;

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

TEST_CASE("A ring under windows gathers keys and values, and backward scatters their gradients too") {
  Transformer model = kLlama8b;
  model.sliding_window_tokens = 1024;
  model.n_windowed_layers = 8;  // a quarter of them
  ParallelPlan plan = plan_of(2, 2);
  plan.sequence.ring = 4;
  const auto kernels = [&](const KernelsOfOp& of_op, const Ops& ops) {
    std::map<std::string, double> counts;
    for (const LayerOp& op : ops) {
      if (op.kind == LayerOp::Kind::attention || op.cause != Cause::sequence || op.gpus != 4) continue;
      for (const CountedKernel& use : of_op(op)) counts[use.kernel.text()] += use.count;
    }
    return counts;
  };
  // 2 bytes of 2 of the 8 heads of 128, of the 2 x 2 x 4 GPUs' tokens. Rings of 4 GPUs 4 apart are in 2
  // nodes.
  const std::int64_t bytes = 2 * 2 * 128 * 16 * kTokens;
  const auto text = [&](std::string_view op) { return collective_case(op, 4, 2, bytes).text(); };
  const std::string copy = copy_case("device", bytes).text();
  const Ops ops = forward(model, plan);
  const std::map<std::string, double> gathered = {{text("all_gather"), 0.5}, {copy, 0.5}};
  CHECK(kernels(forward_kernels, ops) == gathered);
  CHECK(kernels(backward_kernels, ops) ==
        std::map<std::string, double>{{text("all_gather"), 0.5}, {text("reduce_scatter"), 0.5}, {copy, 1.0}});
  // Recomputed with attention: all of the layer, its inside, or Megatron's core_attn.
  const auto recomputed = [&](Checkpointing checkpointing, LayerModules modules = {}) {
    plan.checkpointing = checkpointing;
    plan.recomputed_modules = modules;
    return kernels(forward_kernels, layer_recompute(model, plan, 8, LayerKind::dense, kTokens));
  };
  CHECK(recomputed(Checkpointing::full) == gathered);
  CHECK(recomputed(Checkpointing::selective) == gathered);
  CHECK(recomputed(Checkpointing::modules, LayerModules(LayerModule::core_attn)) == gathered);
  CHECK(recomputed(Checkpointing::modules, LayerModules(LayerModule::mlp)).empty());
  CHECK(recomputed(Checkpointing::operations).empty());
  plan.sequence.ring = 1;
  CHECK(kernels(backward_kernels, forward(model, plan)).empty());
  plan.sequence.ring = 4;
  CHECK(kernels(backward_kernels, forward(kLlama8b, plan)).empty());
  // Told to gather, every layer does, whichever way its packs are cut.
  for (const KeyExchange exchange : {KeyExchange::all_gather, KeyExchange::all_gather_packs}) {
    plan.key_exchange = exchange;
    CHECK(kernels(forward_kernels, forward(kLlama8b, plan)) ==
          std::map<std::string, double>{{text("all_gather"), 2}, {copy, 2}});
    CHECK(kernels(backward_kernels, forward(kLlama8b, plan)) ==
          std::map<std::string, double>{{text("all_gather"), 2}, {text("reduce_scatter"), 2}, {copy, 4}});
    CHECK(kernels(forward_kernels, forward(model, plan)) ==
          kernels(forward_kernels, forward(kLlama8b, plan)));
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
  for (const FrozenFormat* format : {&kNf4, &kGptq, &kAwq}) {
    plan.frozen_weights = format;
    for (const KernelsOfOp& kernels : {KernelsOfOp(forward_kernels), KernelsOfOp(backward_kernels)}) {
      double bytes = 0;
      for (const LayerOp& op : forward(kLlama8b, plan)) {
        if (op.kind != LayerOp::Kind::linear) continue;
        for (const CountedKernel& use : kernels(op))
          if (use.kernel.kernel() == "copy") bytes += use.count * kernel_bytes(use.kernel);
      }
      CHECK(bytes == Approx(format->made_bytes * (kLlama8b.layer_parameters() - 2 * 4096)));
    }
  }
  CHECK(kNf4.made_bytes == Approx(2.516).epsilon(1e-3));  // 0.516 are read and 2 written
  CHECK(kAwq.made_bytes == Approx(6.52).epsilon(1e-3));   // 0.52 are read, 2 written, and 2 + 2 cast
}

TEST_CASE("In fp8 a layer quantises each input once, and the gradients of outputs") {
  ParallelPlan plan = plan_of(1, 1);
  plan.precision = Precision::fp8_delayed;
  std::string_view dtype = "fp8";
  const auto copied = [&](const KernelsOfOp& kernels) {
    double bytes = 0;
    for (const LayerOp& op : forward(kLlama8b, plan)) {
      if (op.kind != LayerOp::Kind::linear) continue;
      CHECK(op.dtype == dtype);
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
  dtype = "nvfp4";
  plan.precision = Precision::nvfp4;
  CHECK(copied(forward_kernels) == 5.0 * (3 * 4096 + 14336));
  dtype = "fp8";
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
