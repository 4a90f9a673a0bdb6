"""A Llama small enough to train on a laptop: RMSNorm, rotary positions, grouped-query attention, SwiGLU.

Documents of a packed row do not see each other. Several processes may share a row (Ulysses): each has a part
of the tokens, and for attention a part of the heads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Config:
    vocabulary: int = 61
    hidden_size: int = 32
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: int = 2
    ffn_size: int = 48

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.n_heads


class TinyLlama(nn.Module):
    """Logits of tokens. All parameters are drawn from the seed."""

    def __init__(self, config: Config, seed: int = 0, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.hidden_size, dtype=dtype)
        self.layers = nn.ModuleList(Layer(config, dtype) for _ in range(config.n_layers))
        self.norm = RmsNorm(config.hidden_size, dtype)
        self.head = nn.Linear(config.hidden_size, config.vocabulary, bias=False, dtype=dtype)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                mean = 1.0 if parameter.dim() == 1 else 0.0
                parameter.normal_(mean, 0.15, generator=generator)
        exponents = torch.arange(0, config.head_size, 2, dtype=torch.float64) / config.head_size
        self.register_buffer("frequencies", 10000.0**-exponents, persistent=False)
        self.frequencies: Tensor

    def forward(
        self,
        input_ids: Tensor,
        position_ids: Tensor,
        cu_seqlens: Tensor | None = None,
        attention_mask: Tensor | None = None,
        group: Any = None,
    ) -> Tensor:
        """Logits, shape (n_rows, n_tokens, vocabulary).

        input_ids and position_ids: this process's part of the row where a group shares it. cu_seqlens or
        attention_mask: of the whole row.
        """
        x = self.embedding(input_ids)
        angles = position_ids[..., None].to(torch.float64) * self.frequencies
        rotation = torch.polar(torch.ones_like(angles), angles)[:, :, None]
        may_see = visible(input_ids, cu_seqlens, attention_mask, group)
        for layer in self.layers:
            x = layer(x, rotation, may_see, group)
        logits: Tensor = self.head(self.norm(x))
        return logits


class Layer(nn.Module):
    def __init__(self, config: Config, dtype: torch.dtype) -> None:
        super().__init__()
        self.head_size = config.head_size
        hidden, kv_size = config.hidden_size, config.n_kv_heads * config.head_size

        def linear(n_in: int, n_out: int) -> nn.Linear:
            return nn.Linear(n_in, n_out, bias=False, dtype=dtype)

        self.attention_norm = RmsNorm(hidden, dtype)
        self.q, self.k, self.v = linear(hidden, hidden), linear(hidden, kv_size), linear(hidden, kv_size)
        self.o = linear(hidden, hidden)
        self.ffn_norm = RmsNorm(hidden, dtype)
        self.gate, self.up = linear(hidden, config.ffn_size), linear(hidden, config.ffn_size)
        self.down = linear(config.ffn_size, hidden)

    def forward(self, x: Tensor, rotation: Tensor, may_see: Tensor, group: Any) -> Tensor:
        y = self.attention_norm(x)
        q, k, v = (linear(y).unflatten(-1, (-1, self.head_size)) for linear in (self.q, self.k, self.v))
        q, k = rotated(q, rotation), rotated(k, rotation)
        q, k, v = gather_tokens(q, k, v, group)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=may_see[:, None], enable_gqa=True)
        x = x + self.o(scatter_tokens(out.transpose(1, 2), group).flatten(2))
        y = self.ffn_norm(x)
        x = x + self.down(functional.silu(self.gate(y)) * self.up(y))
        return x


class RmsNorm(nn.Module):
    def __init__(self, size: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.weight.shape, self.weight, 1e-6)


def rotated(x: Tensor, rotation: Tensor) -> Tensor:
    """Rotary positions, of x of shape (n_rows, n_tokens, n_heads, head_size)."""
    pairs = torch.view_as_complex(x.to(torch.float64).reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(x.dtype)


def visible(
    input_ids: Tensor, cu_seqlens: Tensor | None, attention_mask: Tensor | None, group: Any
) -> Tensor:
    """Which tokens (last dimension) a token may see: earlier ones of its document."""
    n_tokens = input_ids.shape[1] * (1 if group is None else dist.get_world_size(group))
    place = torch.arange(n_tokens, device=input_ids.device)
    is_earlier = place[:, None] >= place[None, :]
    if cu_seqlens is not None:
        document = torch.bucketize(place, cu_seqlens[1:-1].to(place.dtype), right=True)
        return (is_earlier & (document[:, None] == document[None, :]))[None]
    if attention_mask is None:
        return is_earlier[None]
    # Padding is at the end of rows: what it sees does not matter, but it has to see something.
    return is_earlier & (attention_mask[:, None, :] > 0) | (place[:, None] == place[None, :])


def gather_tokens(q: Tensor, k: Tensor, v: Tensor, group: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Exchanges a part of the tokens with all heads for all tokens with a part of the heads."""
    if group is None:
        return q, k, v
    degree = dist.get_world_size(group)
    # Every process needs a head of keys and values.
    repeats = max(degree // k.shape[2], 1)
    k, v = k.repeat_interleave(repeats, 2), v.repeat_interleave(repeats, 2)
    q, k, v = (all_to_all(x, 2, 1, group) for x in (q, k, v))
    return q, k, v


def scatter_tokens(x: Tensor, group: Any) -> Tensor:
    """And back."""
    return x if group is None else all_to_all(x, 1, 2, group)


def all_to_all(x: Tensor, cut: int, joined: int, group: Any) -> Tensor:
    """Cuts dimension `cut` into a part for each process, and puts what comes together along `joined`."""
    out: Tensor = AllToAll.apply(x, cut, joined, group)  # type: ignore[no-untyped-call]
    return out


class AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cut: int, joined: int, group: Any) -> Tensor:
        ctx.cut, ctx.joined, ctx.group = cut, joined, group
        return exchanged(x, cut, joined, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return exchanged(gradients[0], ctx.joined, ctx.cut, ctx.group), None, None, None


def exchanged(x: Tensor, cut: int, joined: int, group: Any) -> Tensor:
    degree = dist.get_world_size(group)
    sent = torch.stack([part.contiguous() for part in x.chunk(degree, cut)])
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent, group=group)
    return torch.cat(list(received), joined)
