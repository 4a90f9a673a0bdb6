"""AdamW on bf16 weights with fp32 master weights and moments: the kernel case adamw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from calibration.steps.training.compiling import raise_limits


@dataclass(frozen=True)
class AdamWSettings:
    learning_rate: float = 1e-5
    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8
    weight_decay: float = 0.1


class WeightShard:
    """Weights that one rank updates, with their states. Weights of fp32 are their own master copy."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight.detach()
        self.master = self.weight if weight.dtype == torch.float32 else self.weight.float()
        self.first_moment = torch.zeros_like(self.master)
        self.second_moment = torch.zeros_like(self.master)
        self.step = torch.zeros((), device=weight.device)


Update = Callable[[WeightShard, Tensor, AdamWSettings], None]


def _fused(shard: WeightShard, gradient: Tensor, settings: AdamWSettings) -> None:
    """PyTorch's fused kernel, which knows no master weights: casts of gradient and weight go around it."""
    shard.step += 1
    torch._fused_adamw_(
        [shard.master],
        [gradient.to(torch.float32)],
        [shard.first_moment],
        [shard.second_moment],
        [],
        [shard.step],
        lr=settings.learning_rate,
        beta1=settings.beta1,
        beta2=settings.beta2,
        weight_decay=settings.weight_decay,
        eps=settings.epsilon,
        amsgrad=False,
        maximize=False,
    )
    if shard.weight is not shard.master:
        shard.weight.copy_(shard.master)


def _update_values(
    weight: Tensor,
    gradient: Tensor,
    master: Tensor,
    first: Tensor,
    second: Tensor,
    step: Tensor,
    s: AdamWSettings,
) -> None:
    gradient = gradient.float()
    first.lerp_(gradient, 1 - s.beta1)
    second.mul_(s.beta2).addcmul_(gradient, gradient, value=1 - s.beta2)
    step_size = s.learning_rate / (1 - s.beta1**step)
    scale = ((second / (1 - s.beta2**step)).sqrt() + s.epsilon).reciprocal()
    master.mul_(1 - s.learning_rate * s.weight_decay).sub_(step_size * first * scale)
    weight.copy_(master)


class AdamW:
    """compiled: one kernel of torch.compile for casts and update, 28 bytes a parameter; fused: PyTorch's
    fused kernel between two casts. `standing` says which it is, and why not compiled where that failed."""

    def __init__(self, wants_compiled: bool, device: torch.device, settings: AdamWSettings) -> None:
        self.settings = settings
        self._update: Update = _fused
        self.standing = "fused"
        if not wants_compiled:
            return
        raise_limits()
        update_values = torch.compile(_update_values, dynamic=True)

        def compiled(shard: WeightShard, gradient: Tensor, settings: AdamWSettings) -> None:
            if shard.weight is shard.master:
                # No casts to save, and compiled code does not take one tensor for two.
                _fused(shard, gradient, settings)
                return
            # Flat: one compilation for tensors of any shape.
            shard.step += 1
            tensors = (
                shard.weight,
                gradient.contiguous(),
                shard.master,
                shard.first_moment,
                shard.second_moment,
            )
            update_values(*(tensor.view(-1) for tensor in tensors), shard.step, settings)

        try:
            self._check(compiled, device)
            self._update, self.standing = compiled, "compiled"
        except Exception as error:  # A missing compiler or driver raises all kinds.
            self.standing = f"fused: torch.compile failed with {type(error).__name__}"

    @torch.no_grad()
    def _check(self, update: Update, device: torch.device) -> None:
        # Matrices and vectors are two compilations. Their kernel's blocks follow from the first one's size.
        for shape in ((1024, 1024), (4096,)):
            weight = torch.randn(shape, device=device).to(torch.bfloat16)
            gradient = torch.randn(shape, device=device).to(torch.bfloat16)
            shards = [WeightShard(weight.clone()), WeightShard(weight.clone())]
            for shard, function in zip(shards, (update, _fused)):
                for _ in range(2):
                    function(shard, gradient, self.settings)
            torch.testing.assert_close(shards[0].master, shards[1].master, rtol=1e-5, atol=1e-6)

    @torch.no_grad()
    def update(self, shard: WeightShard, gradient: Tensor) -> None:
        self._update(shard, gradient, self.settings)
