#include "models/layers/head_shares.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "models/layers/layer_ops.hpp"
#include "models/memory/activations.hpp"

using namespace packsim;

namespace {

Transformer model_of(int n_heads, int n_kv_heads) {
  Transformer model;
  model.name = "m";
  model.n_layers = 1;
  model.hidden_size = 128 * n_heads;
  model.ffn_size = 4 * model.hidden_size;
  model.vocab_size = 1024;
  model.n_heads = n_heads;
  model.n_kv_heads = n_kv_heads;
  model.head_dim = 128;
  return model;
}

ParallelPlan plan_of(int tp, int ulysses) {
  ParallelPlan plan;
  plan.tp_degree = tp;
  plan.sequence.ulysses = ulysses;
  plan.n_gpus = tp * ulysses;
  plan.uneven_heads = true;
  return plan;
}

// By dealing the heads out one by one.
HeadShares dealt(int n_heads, int n_kv_heads, int gpus) {
  const int per_gpu = (n_heads + gpus - 1) / gpus;
  HeadShares most{.heads = 0, .kv_heads = 0};
  std::vector<std::set<int>> kv(static_cast<std::size_t>(gpus));
  std::vector<int> n(static_cast<std::size_t>(gpus));
  for (int head = 0; head < n_heads; ++head) {
    const auto gpu = static_cast<std::size_t>(head / per_gpu);
    kv[gpu].insert(head / (n_heads / n_kv_heads));
    ++n[gpu];
    most.heads = std::max(most.heads, n[gpu]);
    most.kv_heads = std::max(most.kv_heads, static_cast<int>(kv[gpu].size()));
  }
  return most;
}

}  // namespace

TEST_CASE("Heads of the fullest GPU are those that dealing them out gives") {
  for (const auto& [heads, kv_heads] : std::vector<std::pair<int, int>>{
           {32, 8}, {40, 8}, {40, 40}, {28, 4}, {64, 8}, {48, 48}, {12, 2}, {7, 7}}) {
    for (int gpus = 1; gpus <= heads; ++gpus) {
      CAPTURE(heads, kv_heads, gpus);
      const HeadShares shares = head_shares(model_of(heads, kv_heads), plan_of(1, gpus));
      const HeadShares expected = dealt(heads, kv_heads, gpus);
      CHECK(shares.heads == expected.heads);
      CHECK(shares.kv_heads == expected.kv_heads);
    }
  }
  // Two tensor-parallel GPUs have 20 of 40 heads and 4 of 8 key-value heads each.
  const HeadShares split = head_shares(model_of(40, 8), plan_of(2, 3));
  CHECK(split.heads == 7);
  CHECK(split.kv_heads ==
        2);  // heads 0 to 6 are of key-value heads 0 and 1, 7 to 13 of 1 and 2, the rest of 2, 3
}

TEST_CASE("Uneven heads cost what their padding adds") {
  const Transformer model = model_of(40, 8);
  const ParallelPlan plan = plan_of(1, 32);
  const AttentionShape shape = attention_shape(model, plan);
  CHECK(shape.heads == 2);
  CHECK(shape.kv_heads == 2);  // heads 4 and 5 are of key-value heads 0 and 1
  double bytes = 0;
  for (const LayerOp& op : layer_forward(model, plan, 8, LayerKind::dense, 100)) {
    if (op.cause == Cause::sequence && op.kind == LayerOp::Kind::exchange)
      bytes += static_cast<double>(op.bytes);
  }
  // All four as of 2 heads on 32 GPUs: 2 bytes x 128 x 100 tokens.
  CHECK(bytes == 2.0 * 128 * 100 * (64 + 64 + 64 + 64));
  const auto kept = [&](int ulysses) {
    return layer_activations(model, plan_of(1, ulysses), LayerKind::dense).kept_bytes;
  };
  // Against 8 GPUs of 5 heads and one key-value head: 24 heads more of the query and of twice the output, and
  // 56 of key and value; and 4 bytes for each of the 24 heads.
  CHECK(kept(32) - kept(8) == Approx(2.0 * 128 * (3 * 24 + 2 * 56) + 4 * 24));
}

TEST_CASE("Uneven heads are asked for, and never more GPUs than heads") {
  const Transformer model = model_of(40, 8);
  Cluster cluster;
  cluster.nodes = 8;
  ParallelPlan plan = plan_of(1, 32);
  plan.n_gpus = 64;
  CHECK(plan_mistakes(model, cluster, plan).empty());
  plan.uneven_heads = false;
  REQUIRE(plan_mistakes(model, cluster, plan).size() == 1);
  CHECK(plan_mistakes(model, cluster, plan)[0].text() ==
        "sp_degree: expected a divisor of the model's 40 attention heads, got 32");
  plan.uneven_heads = true;
  plan.sequence.ulysses = 64;
  REQUIRE(plan_mistakes(model, cluster, plan).size() == 1);
  CHECK(plan_mistakes(model, cluster, plan)[0].text() ==
        "sp_degree: expected at most the model's 40 attention heads, got 64");
  plan.sequence.ulysses = 2;
  plan.tp_degree = 16;
  CHECK(plan_mistakes(model, cluster, plan)[0].text() ==
        "tp_degree: expected a divisor of the model's 40 attention heads, got 16");
}
