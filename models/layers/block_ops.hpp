#pragma once

#include "models/layers/layer_ops.hpp"
#include "models/value_bytes.hpp"

namespace packsim {

/// The ops of one layer while they are being listed; for the files of this folder.
struct BlockOps {
  const Transformer& model;
  const ParallelPlan& plan;
  int gpus_per_node;
  std::int64_t tokens;    ///< of this GPU, between the blocks
  std::int64_t gathered;  ///< of its tensor-parallel group, inside the blocks
  std::vector<LayerOp> ops = {};

  void add(const LayerOp& op) { ops.push_back(op); }
  void linear(std::int64_t rows, std::int64_t out, std::int64_t in, double count = 1);
  void elementwise(std::string_view op, std::int64_t rows, std::int64_t cols, double count = 1);
  /// All-gather or reduce-scatter of the hidden states over the tensor-parallel group.
  void tensor_exchange(std::string_view op);
};

void add_attention_block(BlockOps& ops);
void add_mlp_block(BlockOps& ops);
void add_expert_block(BlockOps& ops);

}  // namespace packsim
