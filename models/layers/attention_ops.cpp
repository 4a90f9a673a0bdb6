#include <algorithm>

#include "models/layers/block_ops.hpp"

namespace packsim {
namespace {

using std::int64_t;

// One tensor [tokens, width] between heads and tokens: a copy that orders it, and the all-to-all.
void add_all_to_all(BlockOps& ops, int64_t width) {
  if (ops.plan.sequence.ulysses == 1) return;
  const int64_t bytes = kBf16Bytes * ops.gathered * width;
  ops.add({.kind = LayerOp::Kind::copy, .cause = Cause::sequence, .bytes = bytes});
  ops.add({.kind = LayerOp::Kind::exchange,
           .cause = Cause::sequence,
           .bytes = bytes,
           .op = "all_to_all",
           .gpus = ops.plan.sequence.ulysses,
           .nodes = nodes_of_group(ops.plan.sequence.ulysses, ops.plan.tp_degree, ops.gpus_per_node)});
}

void add_grouped_query(BlockOps& ops) {
  const Transformer& model = ops.model;
  const int tp = ops.plan.tp_degree;
  const int64_t query = int64_t{model.n_heads} * model.head_dim / tp;
  const int64_t key_value = std::max<int64_t>(1, model.n_kv_heads / tp) * model.head_dim;
  ops.linear(ops.gathered, query, model.hidden_size);
  ops.linear(ops.gathered, key_value, model.hidden_size, 2);
  if (model.qk_norm) {
    ops.elementwise("rms_norm", ops.gathered * query / model.head_dim, model.head_dim);
    ops.elementwise("rms_norm", ops.gathered * key_value / model.head_dim, model.head_dim);
  }
  ops.elementwise("rope", ops.gathered, query);
  ops.elementwise("rope", ops.gathered, key_value);
  const int kv_heads = std::max(1, model.n_kv_heads / tp);
  const int copies = std::max(1, ops.plan.sequence.ulysses / kv_heads);
  add_all_to_all(ops, query);
  add_all_to_all(ops, key_value * copies);
  add_all_to_all(ops, key_value * copies);
  ops.add({.kind = LayerOp::Kind::attention, .cause = Cause::attention});
  add_all_to_all(ops, query);
  ops.linear(ops.gathered, model.hidden_size, query);
}

void add_keys_and_values(BlockOps& ops, int64_t rows, int64_t heads) {
  const LatentAttention& latent = ops.model.latent;
  ops.linear(rows, heads * (latent.qk_nope_head_dim + latent.v_head_dim), latent.kv_lora_rank);
}

void add_latent(BlockOps& ops) {
  const Transformer& model = ops.model;
  const LatentAttention& latent = model.latent;
  const int64_t heads = model.n_heads / ops.plan.tp_degree;
  const int64_t query_dim = latent.qk_nope_head_dim + latent.qk_rope_head_dim;
  const int64_t latent_width = latent.kv_lora_rank + latent.qk_rope_head_dim;
  if (latent.q_lora_rank > 0) {
    ops.linear(ops.gathered, latent.q_lora_rank, model.hidden_size);
    ops.elementwise("rms_norm", ops.gathered, latent.q_lora_rank);
    ops.linear(ops.gathered, heads * query_dim, latent.q_lora_rank);
  } else {
    ops.linear(ops.gathered, heads * query_dim, model.hidden_size);
  }
  ops.linear(ops.gathered, latent_width, model.hidden_size);
  ops.elementwise("rms_norm", ops.gathered, latent.kv_lora_rank);
  ops.elementwise("rope", ops.gathered, heads * latent.qk_rope_head_dim);
  ops.elementwise("rope", ops.gathered, latent.qk_rope_head_dim);
  const bool sends_latent = ops.plan.latent_exchange && ops.plan.sequence.ulysses > 1;
  if (!sends_latent) add_keys_and_values(ops, ops.gathered, heads);
  add_all_to_all(ops, heads * query_dim);
  if (sends_latent) {
    // Every GPU makes the keys and values of its heads, for all tokens.
    const int64_t all_tokens = ops.gathered * ops.plan.sequence.ulysses;
    ops.add({.kind = LayerOp::Kind::exchange,
             .cause = Cause::sequence,
             .bytes = kBf16Bytes * all_tokens * latent_width,
             .op = "all_gather",
             .gpus = ops.plan.sequence.ulysses,
             .nodes = nodes_of_group(ops.plan.sequence.ulysses, ops.plan.tp_degree, ops.gpus_per_node)});
    add_keys_and_values(ops, all_tokens, heads / ops.plan.sequence.ulysses);
  } else {
    add_all_to_all(ops, heads * query_dim);
    add_all_to_all(ops, heads * latent.v_head_dim);
  }
  ops.add({.kind = LayerOp::Kind::attention, .cause = Cause::attention});
  add_all_to_all(ops, heads * latent.v_head_dim);
  ops.linear(ops.gathered, model.hidden_size, heads * latent.v_head_dim);
}

}  // namespace

void add_attention_block(BlockOps& ops) {
  ops.elementwise("rms_norm", ops.tokens, ops.model.hidden_size);
  ops.tensor_exchange("all_gather");
  if (ops.model.latent.kv_lora_rank > 0) {
    add_latent(ops);
  } else {
    add_grouped_query(ops);
  }
  ops.tensor_exchange("reduce_scatter");
  ops.elementwise("residual_add", ops.tokens, ops.model.hidden_size);
}

AttentionShape attention_shape(const Transformer& model, const ParallelPlan& plan) {
  const int groups = plan.tp_degree * plan.sequence.ulysses;
  if (model.latent.kv_lora_rank > 0) {
    const int key_dim = model.latent.qk_nope_head_dim + model.latent.qk_rope_head_dim;
    const int heads = model.n_heads / groups;
    return {.heads = heads, .kv_heads = heads, .head_dim = (key_dim + model.latent.v_head_dim) / 2};
  }
  return {.heads = model.n_heads / groups,
          .kv_heads = std::max(1, model.n_kv_heads / groups),
          .head_dim = model.head_dim};
}

}  // namespace packsim
