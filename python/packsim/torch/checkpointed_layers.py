"""Layers that are recomputed in the backward pass, as many as a micro-batch needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class CheckpointedLayers:
    """Recomputes the first `n` of a model's layers instead of keeping what they computed.

    It replaces the layers' `forward`, inside their hooks, and neither parameters nor their names: made before
    or after DistributedDataParallel and `fully_shard()`. Gradients are the same for every n.

    Parameters
    ----------
    layers : nn.ModuleList
        In the order in which they run.
    n_recomputed : int
    """

    def __init__(self, layers: nn.ModuleList, n_recomputed: int = 0) -> None:
        self._n_layers = len(layers)
        self.set(n_recomputed)
        for index, layer in enumerate(layers):
            layer.forward = self._wrapped(index, layer.forward)

    def set(self, n_recomputed: int) -> None:
        """Sets the layers of later forward passes: `micro_batch.group.gc_layers`, say; all where it is
        more."""
        if n_recomputed < 0:
            raise ValueError(f"n_recomputed: expected >= 0, got {n_recomputed}")
        self.n_recomputed = min(n_recomputed, self._n_layers)

    def _wrapped(self, index: int, forward: Callable[..., Any]) -> Callable[..., Any]:
        def forward_or_checkpoint(*arguments: Any, **keywords: Any) -> Any:
            if index < self.n_recomputed and torch.is_grad_enabled():
                return checkpoint(forward, *arguments, use_reentrant=False, **keywords)
            return forward(*arguments, **keywords)

        forward_or_checkpoint.checkpointed_layers = self  # type: ignore[attr-defined]
        return forward_or_checkpoint


def checkpointed_by(model: nn.Module) -> CheckpointedLayers | None:
    """What recomputes layers of this model; None where no CheckpointedLayers does."""
    for module in model.modules():
        owner = getattr(module.forward, "checkpointed_layers", None)
        if isinstance(owner, CheckpointedLayers):
            return owner
    return None
