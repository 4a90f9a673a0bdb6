"""Plans in a loop with DeepSpeed: which batches, when its engine steps, and at what scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.distributed as dist
from torch import Tensor

from packsim._arguments import Problems
from packsim._plan import Plan
from packsim.torch.dataset import FetchedPack, MapStyleDataset
from packsim.torch.loader import PlanLoader
from packsim.torch.packed_batch import PackedBatch
from packsim.trainers._data_parallel import add_deepspeed_problems
from packsim.trainers._packed_loss import PackedLoss, check_alone, n_micro_batches


class EngineLoader(PlanLoader):
    """The batches of this process, with what a loop does with them; made by `engine_loader()`."""

    _engine: Any
    _packed_loss: PackedLoss

    def loss(self, batch: PackedBatch) -> Tensor:
        """The loss of a batch, which is moved to the engine's device.

        Calls the engine with `attention_inputs()`. On the first batch, checks that documents are isolated.
        """
        on_device = batch.to(self._engine.device)
        return self._packed_loss(self._engine, on_device, n_micro_batches(self.schedule, batch))[0]

    def backward(self, loss: Tensor, batch: PackedBatch) -> None:
        """`engine.backward()` without its division by `gradient_accumulation_steps`: the plan's weights have
        that already. The engine's next `step()` updates parameters if the batch is the last of its step."""
        self._engine.set_gradient_accumulation_boundary(batch.is_last)
        self._engine.backward(loss, scale_wrt_gas=False)


def engine_loader(
    engine: Any,
    plan: Plan,
    dataset: MapStyleDataset,
    collator: Callable[[FetchedPack], PackedBatch] | None = None,
    *,
    check_isolation: bool = True,
    **options: Any,
) -> EngineLoader:
    """The loader of a process of DeepSpeed.

    Parameters
    ----------
    engine : deepspeed.DeepSpeedEngine
        Of `deepspeed.initialize()`, with any ZeRO stage and any `gradient_accumulation_steps`.
    plan, dataset, collator, **options
        Of PlanLoader.
    check_isolation : bool
        Run `packsim.torch.check_isolation()` on the first batch that `loss()` gets.

    Raises
    ------
    ValueError
        As PlanLoader; for a plan whose packs several processes share; and for an engine whose processes share
        samples or sum gradients up.
    """
    world_size = dist.get_world_size()
    with Problems() as problems:
        # Versions before 0.19 have neither setting, and do what these defaults say.
        operation = "mean" if getattr(engine, "gradient_average", True) else "sum"
        is_managed = getattr(engine, "managed_gradient_accumulation", lambda: True)()
        add_deepspeed_problems(problems, operation, is_managed)
        if engine.dp_world_size != world_size:
            expected = f"expected {world_size} data-parallel processes, as each trains packs of its own"
            problems.add(f"engine: {expected}, got {engine.dp_world_size}")
    loader = EngineLoader(plan, dataset, collator, dist.get_rank(), world_size, **options)
    check_alone(loader.schedule)
    loader._engine = engine
    loader._packed_loss = PackedLoss(world_size, check_isolation)
    return loader
