"""The loss of a micro-batch under a plan's weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from packsim._loss_spans import IGNORE_INDEX


def weighted_loss(
    logits: Tensor,
    labels: Tensor,
    loss_weights: Tensor,
    *,
    averaged_over: int = 1,
    is_shifted: bool = False,
    ignore_index: int = IGNORE_INDEX,
) -> Tensor:
    """The sum of weight times cross-entropy, so that no mean is taken but the one in the weights.

    Gradients that are summed up over the micro-batches of a step and over all processes are those of the
    iteration's loss. Where processes take the mean of gradients instead of the sum, `averaged_over` is the
    number of processes in that mean: for DistributedDataParallel and FSDP the world size, processes that
    share a sequence counted too, as each of them has the gradients of its part of it.

    Parameters
    ----------
    logits : Tensor, shape (..., n_tokens, n_words)
    labels, loss_weights : Tensor, shape (..., n_tokens)
        Of a PackedBatch: token i is predicted by the logits of token i - 1.
    averaged_over : int
        Processes over which gradients are averaged; 1 where they are summed.
    is_shifted : bool
        Labels and weights are `shift_labels` and `shift_loss_weights` of SequenceGroups.shard(): token i + 1
        stands at i.
    ignore_index : int
        Label without loss.

    Returns
    -------
    Tensor
        A scalar of float32, or of float64 for logits of it.
    """
    if not is_shifted:
        logits, labels, loss_weights = logits[..., :-1, :], labels[..., 1:], loss_weights[..., 1:]
    token_losses = functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]).to(accurate_type(logits)),
        labels.reshape(-1),
        reduction="none",
        ignore_index=ignore_index,
    )
    return weighted_token_loss(token_losses, loss_weights.reshape(-1), averaged_over=averaged_over)


def weighted_token_loss(token_losses: Tensor, loss_weights: Tensor, *, averaged_over: int = 1) -> Tensor:
    """The same of losses that a fused kernel has made of each token.

    Parameters
    ----------
    token_losses, loss_weights : Tensor, of one shape
        The loss of each label and its weight; a weight of 0 leaves a token out, whatever its loss.
    averaged_over : int
        As for `weighted_loss()`.
    """
    if token_losses.shape != loss_weights.shape:
        expected, got = tuple(token_losses.shape), tuple(loss_weights.shape)
        raise ValueError(f"loss_weights: expected shape {expected}, one for each loss, got {got}")
    accurate = accurate_type(token_losses)
    losses = token_losses.to(accurate).masked_fill(loss_weights == 0, 0)
    return (losses * loss_weights.to(accurate)).sum() * averaged_over


def accurate_type(values: Tensor) -> torch.dtype:
    return torch.promote_types(values.dtype, torch.float32)
