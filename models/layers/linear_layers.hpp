#pragma once

#include <vector>

#include "models/layers/linear_layer.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// The linear layers of one decoder layer, in the order of the forward pass. They are as separate as in
/// Hugging Face's code; frameworks that fuse q, k, v or gate, up run fewer, wider products of the same flop.
///
/// Attention: q, k, v, o, or qkv, o with fused projections; with latent attention q_a, q_b (or q), kv_a,
/// kv_b, o, where kv_a makes the latent and the key part that is rotated. kv_b expands the latent to the
/// heads' keys and values, as training does. Then gate, up, down, or gate_up, down with fused projections;
/// with experts router, expert_gate, expert_up, expert_down, and where there are shared experts
/// shared_weight, their gate of one output, as well as shared_gate, shared_up, shared_down.
/// Throws std::invalid_argument for the expert layers of a dense model.
std::vector<LinearLayer> linear_layers(const Transformer& model, LayerKind kind);

/// The same for a layer of the model's main kind.
std::vector<LinearLayer> linear_layers(const Transformer& model);

}  // namespace packsim
