"""Cross-entropy in the forms that trainers use."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from calibration.steps.memory_estimate import CHUNK_ROWS
from calibration.steps.training.pointwise import IGNORED_LABEL, Pointwise

FORMS = ("chunked", "fp32")


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


def cross_entropy_sum(form: str, logits: Tensor, labels: Tensor, pointwise: Pointwise) -> Tensor:
    """Sum over the rows that have a label. fp32: of a whole fp32 copy of the logits, as Hugging Face does."""
    if form == "chunked":
        return _ChunkedCrossEntropy.apply(logits, labels, pointwise)
    return functional.cross_entropy(logits.float(), labels, ignore_index=IGNORED_LABEL, reduction="sum")
