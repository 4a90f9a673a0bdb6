"""How much memory a step will need, to plan steps that fit."""

from __future__ import annotations

from calibration.steps.training.architecture import Architecture

# The chunked loss turns the logits of so many rows to fp32 at a time: 512 MiB for a vocabulary of 128 256.
CHUNK_ROWS = 1024

# bf16 weights and gradients, fp32 master weights and two moments.
_STATE_BYTES_PER_PARAMETER = 2 + 2 + 4 + 4 + 4
_BF16_BYTES = 2
# Context, libraries' workspaces, and what the allocator cannot use.
_RESERVED_BYTES = 4e9


def _kept_values_per_token(architecture: Architecture) -> int:
    """What a layer keeps for its backward pass: inputs of its norms, projections, attention and products."""
    a = architecture
    q_size, kv_size = a.heads * a.head_dim, a.kv_heads * a.head_dim
    norms_and_their_outputs = 4 * a.hidden_size
    attention = 2 * q_size + 2 * kv_size
    return norms_and_their_outputs + attention + 3 * a.ffn_size


def step_memory_bytes(architecture: Architecture, layers: int, gc_layers: int, tokens: int) -> float:
    """Peak of one GPU that holds all states, at its largest micro-batch of `tokens`."""
    kept = _kept_values_per_token(architecture)
    # A checkpointed layer keeps its input; while it runs again, one of them keeps all of it.
    values = (layers - gc_layers + (1 if gc_layers else 0)) * kept + gc_layers * architecture.hidden_size
    # Gradients of the layer at work: of its activations once more, about.
    values += kept + architecture.vocab_size
    scratch_bytes = 4 * 2 * CHUNK_ROWS * architecture.vocab_size
    states_bytes = _STATE_BYTES_PER_PARAMETER * architecture.parameters(layers)
    return states_bytes + _BF16_BYTES * values * tokens + scratch_bytes + _RESERVED_BYTES
