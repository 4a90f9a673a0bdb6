#pragma once

#include <algorithm>
#include <string>

#include "models/cluster.hpp"
#include "models/transformer.hpp"

// Formulas of plain plans (dense model, data parallel x Ulysses) as they are published, for comparison. They
// share no code with what they are compared with.
namespace packsim_test {

// bf16 weights on every GPU, fp32 gradients, fp32 master weights and two moments sharded (1); bf16 gradients
// sharded as well (2); weights too (3); nothing sharded (0). ZeRO, arXiv 1910.02054, section 3.1.
inline double model_state_bytes(const packsim::Transformer& model, int zero_stage, int n_gpus) {
  const double parameters = model.parameters();
  switch (zero_stage) {
    case 0:
      return parameters * (2 + 4 + 12);
    case 1:
      return parameters * (2 + 4 + 12.0 / n_gpus);
    case 2:
      return parameters * (2 + (2 + 12.0) / n_gpus);
    default:
      return parameters * (2 + 2 + 12.0) / n_gpus;
  }
}

// Tensors that autograd keeps of one token in one layer: twice an fp32 copy, the normalised input and the
// output of a norm; rotated queries, keys, values, the kernel's output and sums of rows, with Ulysses that
// output behind the all-to-all; gate, its activation, up, their product.
inline double activation_bytes_per_token(const packsim::Transformer& model, bool has_ulysses = false) {
  const double norms = 2 * (4 + 2 + 2.0) * model.hidden_size;
  const double attention =
      2 * ((has_ulysses ? 3 : 2) * model.query_width() + 2 * model.kv_width()) + 4.0 * model.n_heads;
  return norms + attention + 4 * 2.0 * model.ffn_size;
}

// All-to-all bytes that a GPU sends in a forward pass over all layers for one token that it holds (bf16):
// queries and outputs once, keys and values once, copied first where there are fewer heads than GPUs; a GPU
// keeps 1/sp of it. DeepSpeed-Ulysses, arXiv 2309.14509, section 3.2.
inline double ulysses_bytes_per_token(const packsim::Transformer& model, int sp_degree) {
  const double copies = std::max(1.0, static_cast<double>(sp_degree) / model.n_kv_heads);
  const double bytes = 2.0 * model.n_layers * (2 * model.query_width() + 2 * model.kv_width() * copies);
  return bytes * (sp_degree - 1) / sp_degree;
}

// Whether a Ulysses degree can exist: it divides GPUs and heads, divides the key-value heads or is a multiple
// of them, and fills nodes or parts of nodes.
inline bool sp_degree_exists(const packsim::Transformer& model, const packsim::Cluster& cluster, int sp) {
  const bool fits_nodes =
      sp > cluster.gpus_per_node ? sp % cluster.gpus_per_node == 0 : cluster.gpus_per_node % sp == 0;
  return cluster.n_gpus() % sp == 0 && model.n_heads % sp == 0 &&
         (model.n_kv_heads % sp == 0 || sp % model.n_kv_heads == 0) && fits_nodes;
}

}  // namespace packsim_test
