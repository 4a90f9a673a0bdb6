#pragma once

#include <cstdint>
#include <vector>

#include "models/transformer.hpp"

namespace packsim {

/// A linear layer of a decoder, y[tokens, out] = x[tokens, in] W[out, in]^T.
struct LinearLayer {
  std::int64_t out = 0;
  std::int64_t in = 0;
  bool splits_in = false;  ///< tensor parallelism shards its input, not its output: o and down
};

/// Of one decoder layer: q, k, v, o, gate, up, down. Separate products, as Hugging Face's LLaMA, Mistral and
/// Qwen layers run them; frameworks that fuse q, k, v or gate, up run fewer, wider ones of the same flop.
std::vector<LinearLayer> linear_layers(const Transformer& model);

/// The output head.
LinearLayer head_layer(const Transformer& model);

}  // namespace packsim
