"""The memory-bound operations of a transformer: one table for the model and for single-kernel cases.

Each is written as plain PyTorch; torch.compile makes one kernel of what would be several (GPU, and on
request the CPU). What the backward pass of autograd runs follows from the forward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from calibration.steps.memory_estimate import CHUNK_ROWS
from calibration.steps.training.compiling import compiled_for_any_rows, raise_limits

IGNORED_LABEL = -100


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    return functional.silu(gate) * up


def rope(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """x: [tokens, heads, head_dim]; cosine, sine: [tokens, head_dim / 2] in the type of x."""
    first, second = x.chunk(2, -1)
    cosine, sine = cosine.unsqueeze(1), sine.unsqueeze(1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


def residual_add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def embedding(tokens: Tensor, table: Tensor) -> Tensor:
    return functional.embedding(tokens, table)


def row_losses(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Loss and log of the sum of exponentials of each row, in fp32: [rows] each. Ignored rows lose 0."""
    values = logits.float()
    log_sums = values.logsumexp(-1)
    is_counted = labels != IGNORED_LABEL
    picked = values.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    return torch.where(is_counted, log_sums - picked, 0.0), log_sums


def write_logits_gradient(logits: Tensor, labels: Tensor, log_sums: Tensor, scale: Tensor) -> None:
    """Overwrites logits by scale x the gradient of the sum of the row losses, softmax less one-hot label."""
    is_label = torch.arange(logits.shape[-1], device=logits.device) == labels.unsqueeze(-1)
    gradient = (logits.float() - log_sums.unsqueeze(-1)).exp() - is_label.float()
    logits.copy_(gradient * torch.where(labels != IGNORED_LABEL, scale, 0.0).unsqueeze(-1))


@dataclass(frozen=True)
class PointwiseSizes:
    """Sizes for which the operations are compiled beforehand; others are compiled on their first call."""

    hidden_size: int = 64
    ffn_size: int = 64
    heads: tuple[int, ...] = (2, 4)  # of keys and of queries
    head_dim: int = 16
    vocab_size: int = 64


# Compiled code chooses its blocks by them and serves any number of rows.
_ROWS = 2048


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Sum of the rows' losses. fp32 values exist for CHUNK_ROWS rows at a time only, and the gradient is
    written over the logits, as fused kernels do (Liger, Megatron)."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, pointwise: Pointwise) -> Tensor:
        parts = [
            pointwise.row_losses(*rows) for rows in zip(logits.split(CHUNK_ROWS), labels.split(CHUNK_ROWS))
        ]
        ctx.save_for_backward(logits, labels, torch.cat([log_sums for _, log_sums in parts]))
        ctx.pointwise = pointwise
        return torch.cat([losses for losses, _ in parts]).sum()

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor, None, None]:
        logits, labels, log_sums = ctx.saved_tensors
        gradient = logits.detach()
        chunks = zip(gradient.split(CHUNK_ROWS), labels.split(CHUNK_ROWS), log_sums.split(CHUNK_ROWS))
        for chunk, chunk_labels, chunk_sums in chunks:
            ctx.pointwise.write_logits_gradient(chunk, chunk_labels, chunk_sums, scale)
        return gradient, None, None


class Pointwise:
    """The operations, compiled or not; `standing` says which, and why not where compiling failed."""

    def __init__(
        self,
        wants_compiled: bool,
        device: torch.device,
        dtype: torch.dtype,
        sizes: PointwiseSizes | None = None,
    ) -> None:
        self._functions: dict[str, Callable[..., Any]] = {
            function.__name__: function
            for function in (
                rms_norm,
                swiglu,
                rope,
                residual_add,
                embedding,
                row_losses,
                write_logits_gradient,
            )
        }
        self.standing = "eager"
        if wants_compiled:
            eager = dict(self._functions)
            try:
                self._compile(device, dtype, sizes or PointwiseSizes())
                self.standing = "compiled"
            except Exception as error:  # A missing compiler or driver raises all kinds.
                self._functions = eager
                self.standing = f"eager: torch.compile failed with {type(error).__name__}"

    def _compile(self, device: torch.device, dtype: torch.dtype, sizes: PointwiseSizes) -> None:
        raise_limits()
        # The matrix of the embedding is read by an index: there is nothing to fuse.
        self._functions |= {
            name: compiled_for_any_rows(function)
            for name, function in self._functions.items()
            if name != "embedding"
        }
        # Each once, forward and backward, so that what cannot be compiled shows now. As a model calls them:
        # code for inputs without gradients, say, would not serve it.
        like: dict[str, Any] = {"device": device, "dtype": dtype, "requires_grad": True}
        x = torch.randn(_ROWS, sizes.hidden_size, **like)
        weight = torch.nn.Parameter(torch.ones(sizes.hidden_size, device=device, dtype=dtype))
        self.residual_add(x, self.rms_norm(x, weight)).sum().backward()
        gate, up = (torch.randn(_ROWS, sizes.ffn_size, **like) for _ in range(2))
        self.swiglu(gate, up).sum().backward()
        # Two, as one given twice would be known to be the same.
        angles = [torch.randn(_ROWS, sizes.head_dim // 2, device=device, dtype=dtype) for _ in range(2)]
        for heads in sizes.heads:
            self.rope(torch.randn(_ROWS, heads, sizes.head_dim, **like), *angles).sum().backward()
        logits = torch.randn(_ROWS, sizes.vocab_size, **like)
        labels = torch.zeros(_ROWS, dtype=torch.int64, device=device)
        self.chunked_cross_entropy(logits, labels).backward()

    def chunked_cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Sum of the rows' losses; the gradient is written over the logits."""
        return _ChunkedCrossEntropy.apply(logits, labels, self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self.__dict__["_functions"][name]
        except KeyError as error:
            raise AttributeError(name) from error
