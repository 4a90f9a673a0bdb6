#include "models/layers/block_ops.hpp"

namespace packsim {
namespace {

using std::int64_t;

void add_gated(BlockOps& ops, int64_t rows, int64_t ffn_size, double count) {
  ops.linear(rows, ffn_size, ops.model.hidden_size, 2 * count);
  ops.elementwise("swiglu", rows, ffn_size, count);
  ops.linear(rows, ops.model.hidden_size, ffn_size, count);
}

void add_split_mlp(BlockOps& ops, int64_t ffn_size) {
  ops.tensor_exchange("all_gather");
  add_gated(ops, ops.gathered, ffn_size / ops.plan.tp_degree, 1);
  ops.tensor_exchange("reduce_scatter");
}

// Tokens to the GPUs of their experts, or back.
void add_dispatch(BlockOps& ops) {
  const int64_t bytes = kBf16Bytes * ops.tokens * ops.model.experts.per_token * ops.model.hidden_size;
  ops.add({.kind = LayerOp::Kind::copy, .cause = Cause::expert, .bytes = bytes});
  if (ops.plan.ep_degree == 1) return;
  ops.add({.kind = LayerOp::Kind::exchange,
           .cause = Cause::expert,
           .bytes = bytes,
           .op = "all_to_all",
           .gpus = ops.plan.ep_degree,
           .nodes = nodes_of_group(ops.plan.ep_degree, ops.plan.tp_degree, ops.gpus_per_node)});
}

}  // namespace

void add_mlp_block(BlockOps& ops) {
  ops.elementwise("rms_norm", ops.tokens, ops.model.hidden_size);
  add_split_mlp(ops, ops.model.ffn_size);
  ops.elementwise("residual_add", ops.tokens, ops.model.hidden_size);
}

void add_expert_block(BlockOps& ops) {
  const Experts& experts = ops.model.experts;
  ops.elementwise("rms_norm", ops.tokens, ops.model.hidden_size);
  ops.linear(ops.tokens, experts.n_routed, ops.model.hidden_size);
  add_dispatch(ops);
  const int n_local = experts.n_routed / ops.plan.ep_degree;
  // Every GPU of the expert-parallel group sends as many tokens to every expert.
  const int64_t rows =
      (ops.tokens * experts.per_token * ops.plan.ep_degree + experts.n_routed - 1) / experts.n_routed;
  add_gated(ops, rows, experts.ffn_size, n_local);
  add_dispatch(ops);
  if (experts.shared_ffn_size > 0) {
    if (experts.shared_gate) ops.linear(ops.tokens, 1, ops.model.hidden_size);
    add_split_mlp(ops, experts.shared_ffn_size);
    ops.elementwise("residual_add", ops.tokens, ops.model.hidden_size);
  }
  ops.elementwise("residual_add", ops.tokens, ops.model.hidden_size);
}

}  // namespace packsim
