#pragma once

#include "models/transformer.hpp"

namespace packsim_test {

// As in models/architectures, which tests of this folder do not read.
inline const packsim::Transformer kDeepseekV2{
    .name = "deepseek-v2",
    .source = "",
    .n_layers = 60,
    .hidden_size = 5120,
    .n_heads = 128,
    .n_kv_heads = 128,
    .head_dim = 192,
    .ffn_size = 12288,
    .vocab_size = 102400,
    .latent = {.q_lora_rank = 1536,
               .kv_lora_rank = 512,
               .qk_nope_head_dim = 128,
               .qk_rope_head_dim = 64,
               .v_head_dim = 128},
    .experts = {
        .n_routed = 160, .per_token = 6, .ffn_size = 1536, .shared_ffn_size = 3072, .n_dense_layers = 1}};

inline const packsim::Transformer kQwen3Moe{.name = "qwen3-30b-a3b",
                                            .source = "",
                                            .n_layers = 48,
                                            .hidden_size = 2048,
                                            .n_heads = 32,
                                            .n_kv_heads = 4,
                                            .head_dim = 128,
                                            .ffn_size = 6144,
                                            .vocab_size = 151936,
                                            .qk_norm = true,
                                            .experts = {.n_routed = 128, .per_token = 8, .ffn_size = 768}};

// Everything that the two above lack: queries from the hidden state, a gate of the shared experts, biases.
inline const packsim::Transformer kTinyMixture{.name = "tiny-mixture",
                                               .source = "",
                                               .n_layers = 4,
                                               .hidden_size = 16,
                                               .n_heads = 4,
                                               .n_kv_heads = 2,
                                               .head_dim = 4,
                                               .ffn_size = 24,
                                               .vocab_size = 100,
                                               .tied_embeddings = true,
                                               .qkv_bias = true,
                                               .experts = {.n_routed = 8,
                                                           .per_token = 2,
                                                           .ffn_size = 6,
                                                           .shared_ffn_size = 12,
                                                           .shared_gate = true,
                                                           .n_dense_layers = 1}};
inline const packsim::Transformer kTinyLatent{
    .name = "tiny-latent",
    .source = "",
    .n_layers = 2,
    .hidden_size = 16,
    .n_heads = 4,
    .n_kv_heads = 4,
    .head_dim = 6,
    .ffn_size = 24,
    .vocab_size = 100,
    .latent = {.kv_lora_rank = 8, .qk_nope_head_dim = 4, .qk_rope_head_dim = 2, .v_head_dim = 3}};

}  // namespace packsim_test
