#pragma once

#include "models/transformer.hpp"

namespace packsim_test {

inline const packsim::Transformer kLlama8b{.name = "llama3.1-8b",
                                           .source = "",
                                           .n_layers = 32,
                                           .hidden_size = 4096,
                                           .n_heads = 32,
                                           .n_kv_heads = 8,
                                           .head_dim = 128,
                                           .ffn_size = 14336,
                                           .vocab_size = 128256};

}  // namespace packsim_test
