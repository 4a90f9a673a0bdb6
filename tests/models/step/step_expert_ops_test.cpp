#include "models/layers/layer_ops.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "models/memory/activations.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/step/layer_op_sums.hpp"

using namespace packsim;
using namespace packsim_test;

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

TEST_CASE("Experts split by tensor parallelism: all tokens of the group, for a part of each expert") {
  ParallelPlan whole = plan_of(2, 1, 8);
  ParallelPlan split = whole;
  split.execution.splits_experts = true;
  // 240 tokens of each of the two GPUs come to each of 16 experts from 8 GPUs, which have 384 of 768 columns.
  int n_expert_products = 0;
  for (const LayerOp& op : forward(kQwen3Moe, split, LayerKind::expert)) {
    if (op.kind != LayerOp::Kind::linear || (op.out != 384 && op.in != 384)) continue;
    CHECK(op.rows == 2 * 8 * 240);
    ++n_expert_products;
  }
  CHECK(n_expert_products == 2);
  CHECK(flop_per_token(kQwen3Moe, split, LayerKind::expert) ==
        flop_per_token(kQwen3Moe, whole, LayerKind::expert));
  // What the two GPUs gather before the products and scatter behind them, beside the blocks' own exchanges.
  const auto more = [&](std::string_view collective) {
    return payload(forward(kQwen3Moe, split, LayerKind::expert), Cause::tensor, collective) -
           payload(forward(kQwen3Moe, whole, LayerKind::expert), Cause::tensor, collective);
  };
  CHECK(more("all_gather") == 2 * 2.0 * kTokens * 8 * 2048);
  CHECK(more("reduce_scatter") == 2 * 2.0 * kTokens * 8 * 2048);
  CHECK(payload(forward(kQwen3Moe, split, LayerKind::expert), Cause::expert) ==
        payload(forward(kQwen3Moe, whole, LayerKind::expert), Cause::expert));
  // No product hides the gather: with one expert a GPU it comes right before the products.
  Transformer few = kQwen3Moe;
  few.experts.n_routed = 8;
  const Ops ops = forward(few, split, LayerKind::expert);
  for (const LayerOp& op : ops) {
    const bool is_of_experts = op.kind == LayerOp::Kind::exchange && op.cause == Cause::tensor &&
                               op.bytes == 2 * 2 * kTokens * 8 * 2048;
    CHECK(op.is_exposed == is_of_experts);
  }
}

TEST_CASE("A grouped product is one launch for all experts, a loop waits for the GPU at each") {
  ParallelPlan plan = plan_of(1, 1, 8);
  const auto launched = [&](const ExpertStyle& style) {
    plan.execution.experts = &style;
    Launches sum;
    double per_launch = 0;
    for (const LayerOp& op : forward(kQwen3Moe, plan, LayerKind::expert)) {
      sum = sum + op.launches;
      if (op.kind == LayerOp::Kind::linear && op.out == 768) per_launch = op.per_launch;
    }
    return std::pair{sum, per_launch};
  };
  // 16 of the 128 experts are on the GPU; gate and up are alike.
  CHECK(launched(kSeparateExperts) == std::pair{Launches{}, 1.0});
  CHECK(launched(kGroupedExperts) == std::pair{kGroupedExperts.layer, 32.0});
  CHECK(launched(kLoopedExperts) ==
        std::pair{Launches{.forward = 12 + 16 * 7, .backward = 8 + 16 * 11, .waits = 16}, 1.0});
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
  // In one of two groups, which are the nodes: one node.
  plan.expert_imbalance = 1;
  model.experts.n_groups = 2;
  CHECK(sent() == Approx(once));
  plan.expert_dispatch = ExpertDispatch::all_to_all;
  CHECK(sent() == Approx(once * 3));
  plan.expert_dispatch = ExpertDispatch::deduplicated;
  model.experts.n_groups = 1;
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
    return layer_activations(kQwen3Moe, plan, LayerKind::expert).kept_bytes;
  };
  // Half of 8 rows a token more, of their input and output (2048 each) and of gate, its activation, up and
  // product (768).
  CHECK(kept(uneven) - kept(even) == Approx(4 * 2.0 * (2 * 2048 + 4 * 768)));
}
