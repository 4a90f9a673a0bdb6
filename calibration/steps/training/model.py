"""A Llama-like transformer on packed documents: RMSNorm, RoPE, grouped attention, SwiGLU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from calibration.steps.training.architecture import Architecture
from calibration.steps.training.attention import Attention, DocumentLayout
from calibration.steps.training.loss import cross_entropy_sum
from calibration.steps.training.pointwise import Pointwise
from calibration.steps.training.sequence_parallel import Ulysses

_ROPE_BASE = 500000.0  # of Llama 3; times do not depend on it


@dataclass(frozen=True)
class Operations:
    """What the layers call."""

    attention: Attention
    pointwise: Pointwise
    ulysses: Ulysses
    loss_form: str


@dataclass(frozen=True)
class PackPart:
    """A rank's part of one pack, on its device. layout is of the whole pack, padding included."""

    tokens: Tensor  # [tokens / sp]
    labels: Tensor  # [tokens / sp], the next token of the same document or IGNORED_LABEL
    positions: Tensor  # [tokens / sp], from the start of the document
    layout: DocumentLayout


class _RmsNorm(nn.Module):
    def __init__(self, size: int, pointwise: Pointwise) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self._pointwise = pointwise

    def forward(self, x: Tensor) -> Tensor:
        return self._pointwise.rms_norm(x, self.weight)


class Layer(nn.Module):
    def __init__(self, architecture: Architecture, operations: Operations) -> None:
        super().__init__()
        a, hidden = architecture, architecture.hidden_size
        q_size, kv_size = a.heads * a.head_dim, a.kv_heads * a.head_dim
        self.is_checkpointed = False
        self._head_dim = a.head_dim
        self._operations = operations
        self.attention_norm = _RmsNorm(hidden, operations.pointwise)
        self.q = nn.Linear(hidden, q_size, bias=a.qkv_bias)
        self.k = nn.Linear(hidden, kv_size, bias=a.qkv_bias)
        self.v = nn.Linear(hidden, kv_size, bias=a.qkv_bias)
        self.o = nn.Linear(q_size, hidden, bias=False)
        self.ffn_norm = _RmsNorm(hidden, operations.pointwise)
        self.gate = nn.Linear(hidden, a.ffn_size, bias=False)
        self.up = nn.Linear(hidden, a.ffn_size, bias=False)
        self.down = nn.Linear(a.ffn_size, hidden, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor, layout: DocumentLayout) -> Tensor:
        # Recomputation starts inside the module, so that FSDP has the weights in place before anything is
        # recomputed.
        if self.is_checkpointed and torch.is_grad_enabled():
            # No dropout: there is no random state to keep.
            return checkpoint(
                self._layer, x, cosine, sine, layout, use_reentrant=False, preserve_rng_state=False
            )
        return self._layer(x, cosine, sine, layout)

    def _layer(self, x: Tensor, cosine: Tensor, sine: Tensor, layout: DocumentLayout) -> Tensor:
        pointwise, ulysses = self._operations.pointwise, self._operations.ulysses
        y = self.attention_norm(x)
        q, k, v = (linear(y).unflatten(-1, (-1, self._head_dim)) for linear in (self.q, self.k, self.v))
        q, k = pointwise.rope(q, cosine, sine), pointwise.rope(k, cosine, sine)
        out = self._operations.attention(*ulysses.gather_tokens(q, k, v), layout)
        x = pointwise.residual_add(x, self.o(ulysses.scatter_tokens(out).flatten(1)))
        y = self.ffn_norm(x)
        return pointwise.residual_add(x, self.down(pointwise.swiglu(self.gate(y), self.up(y))))


class Transformer(nn.Module):
    """forward: the sum of the losses of a rank's part of a pack.

    on_layer is called with each layer once it has its weights, before the next is made: sharding there
    keeps no more than one whole layer on a GPU.
    """

    def __init__(
        self,
        architecture: Architecture,
        layers: int,
        operations: Operations,
        device: torch.device,
        dtype: torch.dtype,
        on_layer: Callable[[nn.Module], None],
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._operations = operations
        generator = torch.Generator(device).manual_seed(seed)
        with device:
            self.layers = nn.ModuleList()
            for _ in range(layers):
                with torch.device("meta"):
                    layer = Layer(architecture, operations)
                _fill(layer.to(dtype).to_empty(device=device), generator)
                on_layer(layer)
                self.layers.append(layer)
            top = {"dtype": dtype, "device": device}
            self.embedding = nn.Parameter(
                torch.empty(architecture.vocab_size, architecture.hidden_size, **top)
            )
            self.norm = _RmsNorm(architecture.hidden_size, operations.pointwise).to(dtype)
            self.head = None
            if not architecture.tied_embeddings:
                self.head = nn.Parameter(torch.empty_like(self.embedding))
            for table in [self.embedding] + ([] if self.head is None else [self.head]):
                nn.init.normal_(table, std=0.02, generator=generator)
            exponents = torch.arange(0, architecture.head_dim, 2, dtype=torch.float32) / architecture.head_dim
            self._frequencies = _ROPE_BASE**-exponents

    def checkpoint_first(self, gc_layers: int) -> None:
        for index, layer in enumerate(self.layers):
            layer.is_checkpointed = index < gc_layers

    def forward(self, part: PackPart) -> Tensor:
        pointwise = self._operations.pointwise
        x = pointwise.embedding(part.tokens, self.embedding)
        angles = torch.outer(part.positions.float(), self._frequencies)
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cosine, sine, part.layout)
        head = self.embedding if self.head is None else self.head
        logits = nn.functional.linear(self.norm(x), head)
        return cross_entropy_sum(self._operations.loss_form, logits, part.labels, pointwise)


@torch.no_grad()
def _fill(layer: nn.Module, generator: torch.Generator) -> None:
    for parameter in layer.parameters():
        if parameter.dim() == 1:
            # Norms and biases; random too, so that a bias that is left out shows in the tests.
            parameter.normal_(mean=1.0, std=0.02, generator=generator)
        else:
            parameter.normal_(std=0.02, generator=generator)
