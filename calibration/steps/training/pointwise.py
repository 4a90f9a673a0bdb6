"""The memory-bound operations of a transformer: one table for the model and for single-kernel cases.

Each is written as plain PyTorch; torch.compile makes one kernel of what would be several (GPU, and on
request the CPU). What the backward pass of autograd runs follows from the forward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

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
    """Over the logits: scale times the gradient of the sum of the row losses, softmax less one-hot label."""
    is_label = torch.arange(logits.shape[-1], device=logits.device) == labels.unsqueeze(-1)
    gradient = (logits.float() - log_sums.unsqueeze(-1)).exp() - is_label.float()
    logits.copy_(gradient * torch.where(labels != IGNORED_LABEL, scale, 0.0).unsqueeze(-1))


class Pointwise:
    """The operations, compiled or not; `standing` says which, and why not where compiling failed."""

    def __init__(self, wants_compiled: bool, device: torch.device, dtype: torch.dtype) -> None:
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
            try:
                self._compile({"device": device, "dtype": dtype})
                self.standing = "compiled"
            except Exception as error:  # A missing compiler or driver raises all kinds.
                self.standing = f"eager: torch.compile failed with {type(error).__name__}"

    def _compile(self, like: dict[str, Any]) -> None:
        # The matrix of the embedding is read by an index: there is nothing to fuse.
        compiled = {
            name: torch.compile(function, dynamic=True)
            for name, function in self._functions.items()
            if name != "embedding"
        }
        # Each once, forward and backward, so that what cannot be compiled shows now.
        x = torch.randn(6, 8, **like, requires_grad=True)
        angles = torch.randn(6, 4, **like)
        labels = torch.zeros(6, dtype=torch.int64, device=like["device"])
        y = compiled["swiglu"](compiled["rms_norm"](x, torch.ones(8, **like, requires_grad=True)), x)
        y = compiled["rope"](compiled["residual_add"](x, y).view(6, 1, 8), angles, angles)
        y.sum().backward()
        logits = torch.randn(6, 8, **like)
        with torch.no_grad():
            log_sums = compiled["row_losses"](logits, labels)[1]
            compiled["write_logits_gradient"](logits, labels, log_sums, torch.ones((), device=like["device"]))
        self._functions |= compiled

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self.__dict__["_functions"][name]
        except KeyError as error:
            raise AttributeError(name) from error
