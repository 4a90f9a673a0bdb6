"""Data parallelism over all ranks, dp x sp of them: who keeps what, and what is sent when.

zero 0: everything on every rank. Gradients are all-reduced in buckets, while the last backward pass goes on.
zero 1: optimizer states are sharded: buckets are reduce-scattered instead, each rank updates its part of each
        bucket, and the new weights are all-gathered.
zero 2: FSDP2 with reshard_after_forward=False: gradients are sharded too and reduce-scattered at every
        micro-batch; weights are gathered once a step.
zero 3: FSDP2: weights are sharded too, and gathered at every layer's forward and backward.

Gradients are sums: the loss is divided by the labels of all ranks beforehand. In zero 2 and 3 the sharded
weights are the fp32 master copy, which is cast to bf16 when it is gathered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from calibration.steps.training.optimizer import AdamW, AdamWSettings, WeightShard

# 64 MiB in bf16: large enough for full bandwidth, small enough to overlap with the backward pass.
BUCKET_VALUES = 1 << 25


class _Bucket:
    """Parameters whose gradients are sent together."""

    def __init__(self, parameters: list[nn.Parameter], n_ranks: int) -> None:
        self.parameters = parameters
        size = sum(parameter.numel() for parameter in parameters)
        first = parameters[0]
        self.gradients = torch.zeros(size + -size % n_ranks, dtype=first.dtype, device=first.device)
        self.n_missing = len(parameters)
        self.work: Any = None
        self.shard: WeightShard | None = None  # zero 1: this rank's part of the weights
        self.weights: Tensor | None = None  # zero 1: of all parameters, which are views of it
        self.gradient_shard: Tensor | None = None

    def views_of(self, flat: Tensor) -> list[Tensor]:
        sizes = [parameter.numel() for parameter in self.parameters]
        parts = flat[: sum(sizes)].split(sizes)
        return [part.view_as(parameter) for part, parameter in zip(parts, self.parameters)]


def _buckets_of(model: nn.Module, n_ranks: int) -> list[_Bucket]:
    buckets: list[list[nn.Parameter]] = []
    size = BUCKET_VALUES
    # The backward pass comes to the last parameters first.
    for parameter in reversed(list(model.parameters())):
        if size + parameter.numel() > BUCKET_VALUES:
            buckets.append([])
            size = 0
        buckets[-1].append(parameter)
        size += parameter.numel()
    return [_Bucket(parameters, n_ranks) for parameters in buckets]


class Replicated:
    """zero 0 and, with sharded optimizer states, zero 1."""

    def __init__(self, model: nn.Module, shards_states: bool, n_ranks: int, rank: int, adamw: AdamW) -> None:
        self._model = model
        self._n_ranks = n_ranks
        self._adamw = adamw
        self._shards_states = shards_states and n_ranks > 1
        self._is_last = False
        self._buckets = _buckets_of(model, n_ranks) if n_ranks > 1 else []
        self._shards: dict[nn.Parameter, WeightShard] = {}
        if self._shards_states:
            for bucket in self._buckets:
                self._shard_states(bucket, rank)
        else:
            self._shards = {parameter: WeightShard(parameter) for parameter in model.parameters()}
        for bucket in self._buckets:
            for parameter in bucket.parameters:
                parameter.register_post_accumulate_grad_hook(self._hook(bucket))

    def _shard_states(self, bucket: _Bucket, rank: int) -> None:
        bucket.weights = torch.zeros_like(bucket.gradients)
        for parameter, view in zip(bucket.parameters, bucket.views_of(bucket.weights)):
            view.copy_(parameter.detach())
            parameter.data = view
        own = bucket.weights.chunk(self._n_ranks)[rank]
        bucket.shard = WeightShard(own)
        bucket.gradient_shard = torch.empty_like(own)

    def _hook(self, bucket: _Bucket) -> Callable[[Tensor], None]:
        def on_gradient(parameter: Tensor) -> None:
            del parameter
            if not self._is_last:
                return
            bucket.n_missing -= 1
            if bucket.n_missing == 0:
                self._send(bucket)

        return on_gradient

    def _send(self, bucket: _Bucket) -> None:
        for view, parameter in zip(bucket.views_of(bucket.gradients), bucket.parameters):
            view.copy_(parameter.grad)
            parameter.grad = view
        if self._shards_states:
            bucket.work = dist.reduce_scatter_tensor(bucket.gradient_shard, bucket.gradients, async_op=True)
        else:
            bucket.work = dist.all_reduce(bucket.gradients, async_op=True)

    def before_micro_batch(self, is_last: bool) -> None:
        self._is_last = is_last
        for bucket in self._buckets:
            bucket.n_missing = len(bucket.parameters)

    def finish_backward(self) -> None:
        """Waits for the gradients."""
        for bucket in self._buckets:
            bucket.work.wait()

    def update(self) -> None:
        if self._shards_states:
            for bucket in self._buckets:
                self._adamw.update(bucket.shard, bucket.gradient_shard)
                bucket.work = dist.all_gather_into_tensor(bucket.weights, bucket.shard.weight, async_op=True)
            for bucket in self._buckets:
                bucket.work.wait()
        else:
            for parameter, shard in self._shards.items():
                self._adamw.update(shard, parameter.grad)

    def forget_gradients(self) -> None:
        self._model.zero_grad(set_to_none=True)

    def gradient_scale(self) -> float:
        return 1.0


class Sharded:
    """zero 2 and 3, by FSDP2."""

    def __init__(self, model: nn.Module, zero: int, n_ranks: int, settings: AdamWSettings) -> None:
        self._model = model
        self._zero = zero
        self._n_ranks = n_ranks
        self._optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=settings.learning_rate,
            betas=(settings.beta1, settings.beta2),
            eps=settings.epsilon,
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def before_micro_batch(self, is_last: bool) -> None:
        if self._zero == 2:
            self._model.set_reshard_after_backward(is_last)

    def finish_backward(self) -> None:
        """FSDP2 waits for the gradients at the end of the backward pass itself."""

    def update(self) -> None:
        self._optimizer.step()

    def forget_gradients(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)

    def gradient_scale(self) -> float:
        # FSDP takes the mean over the ranks.
        return float(self._n_ranks)


def sharding_of(zero: int, dtype: torch.dtype, device: torch.device) -> Callable[[nn.Module], None]:
    """Applied to each layer as it is made, and to the whole model at last."""
    if zero < 2:
        return lambda module: None
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    policy = MixedPrecisionPolicy(
        param_dtype=None if dtype == torch.float32 else dtype, cast_forward_inputs=False
    )

    def shard(module: nn.Module) -> None:
        fully_shard(module, mesh=mesh, mp_policy=policy, reshard_after_forward=zero == 3)

    return shard
