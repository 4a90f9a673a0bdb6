"""What is counted in PyTorch and in packsim: families of models, and ways to train them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "eos_token_id": 0,
}
N_TOKENS = 16
LORA_RANK = 4


@dataclass(frozen=True)
class Family:
    config: str  # the class of transformers
    more: dict[str, Any] = field(default_factory=dict)
    # What a model file of packsim's says of the layers, of a family whose config.json packsim refuses.
    traits: dict[str, bool] = field(default_factory=dict)


FAMILIES = {
    "Llama": Family("LlamaConfig"),
    "Qwen2": Family("Qwen2Config"),
    "Qwen3": Family("Qwen3Config"),
    "Phi-3": Family("Phi3Config"),
    # Its scores are capped, inside the kernel of attention.
    "Gemma 2": Family("Gemma2Config", {"query_pre_attn_scalar": 8}, {"output_norms": True}),
    "Gemma 3": Family("Gemma3TextConfig", {"query_pre_attn_scalar": 8}),
    "Qwen3-MoE": Family(
        "Qwen3MoeConfig", {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
    ),
    "Mixtral": Family("MixtralConfig", {"num_local_experts": 8, "num_experts_per_tok": 2}),
}

WITH_EXPERTS = {"Qwen3-MoE", "Mixtral"}


@dataclass(frozen=True)
class Training:
    dtype: str  # of the weights of layers
    autocast: bool
    optimizer: str  # packsim's name for these formats
    lora: bool = False
    checkpoints: bool = False


BF16 = Training("bfloat16", autocast=False, optimizer="adamw_bf16")
AUTOCAST = Training("float32", autocast=True, optimizer="adamw_fp32")
LORA = Training("bfloat16", autocast=True, optimizer="adamw", lora=True)
