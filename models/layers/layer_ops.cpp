#include "models/layers/layer_ops.hpp"

#include "models/layers/block_ops.hpp"

namespace packsim {
namespace {

BlockOps block_ops(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                   std::int64_t tokens) {
  return {.model = model,
          .plan = plan,
          .gpus_per_node = gpus_per_node,
          .tokens = tokens,
          .gathered = tokens * plan.tp_degree};
}

}  // namespace

void BlockOps::linear(std::int64_t rows, std::int64_t out, std::int64_t in, double count) {
  const bool is_adapted = plan.lora_rank > 0;
  add({.kind = LayerOp::Kind::linear,
       .count = count,
       .rows = rows,
       .out = out,
       .in = in,
       .frozen = is_adapted});
  if (!is_adapted) return;
  add({.kind = LayerOp::Kind::linear, .count = count, .rows = rows, .out = plan.lora_rank, .in = in});
  add({.kind = LayerOp::Kind::linear, .count = count, .rows = rows, .out = out, .in = plan.lora_rank});
}

void BlockOps::elementwise(std::string_view op, std::int64_t rows, std::int64_t cols, double count) {
  add({.kind = LayerOp::Kind::elementwise, .count = count, .rows = rows, .out = cols, .op = op});
}

void BlockOps::tensor_exchange(std::string_view op) {
  if (plan.tp_degree == 1) return;
  add({.kind = LayerOp::Kind::exchange,
       .cause = Cause::tensor,
       .bytes = kBf16Bytes * gathered * model.hidden_size,
       .op = op,
       .gpus = plan.tp_degree,
       .nodes = nodes_of_group(plan.tp_degree, 1, gpus_per_node)});
}

std::vector<LayerOp> layer_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                   LayerKind kind, std::int64_t tokens) {
  BlockOps ops = block_ops(model, plan, gpus_per_node, tokens);
  add_attention_block(ops);
  if (kind == LayerKind::dense) {
    add_mlp_block(ops);
  } else {
    add_expert_block(ops);
  }
  return ops.ops;
}

std::vector<LayerOp> layer_recompute(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                     LayerKind kind, std::int64_t tokens) {
  std::vector<LayerOp> ops = layer_forward(model, plan, gpus_per_node, kind, tokens);
  if (plan.checkpointing == Checkpointing::selective) {
    std::erase_if(ops, [](const LayerOp& op) { return op.kind != LayerOp::Kind::attention; });
  } else if (plan.execution.recompute_stops_early && kind == LayerKind::dense) {
    // The backward pass needs nothing of the last product's output.
    while (ops.back().kind != LayerOp::Kind::linear) ops.pop_back();
    ops.pop_back();
  }
  for (LayerOp& op : ops) {
    if (op.cause == Cause::linear || op.cause == Cause::attention) op.cause = Cause::recompute;
  }
  return ops;
}

std::vector<LayerOp> embedding_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                       std::int64_t tokens) {
  BlockOps ops = block_ops(model, plan, gpus_per_node, tokens);
  ops.elementwise("embedding", ops.gathered, model.hidden_size);
  ops.tensor_exchange("reduce_scatter");
  return ops.ops;
}

std::vector<LayerOp> head_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                  std::int64_t tokens) {
  BlockOps ops = block_ops(model, plan, gpus_per_node, tokens);
  const std::int64_t vocabulary = (model.vocab_size + plan.tp_degree - 1) / plan.tp_degree;
  ops.elementwise("rms_norm", tokens, model.hidden_size);
  ops.tensor_exchange("all_gather");
  ops.add({.kind = LayerOp::Kind::linear,
           .rows = ops.gathered,
           .out = vocabulary,
           .in = model.hidden_size,
           .frozen = plan.lora_rank > 0});
  ops.elementwise("cross_entropy", ops.gathered, vocabulary);
  return ops.ops;
}

}  // namespace packsim
