"""Plans in Lightning: the data of a fit, and a module that steps where the plan does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from torch import Tensor, nn

from packsim._plan import Plan
from packsim.torch.dataset import FetchedPack, MapStyleDataset
from packsim.torch.loader import PlanLoader
from packsim.torch.packed_batch import PackedBatch
from packsim.trainers._framework import framework
from packsim.trainers._packed_loss import PackedLoss, check_alone, n_micro_batches

_lightning = framework("lightning.pytorch", "lightning")


class PlanDataModule(_lightning.LightningDataModule):  # type: ignore[misc, name-defined, unused-ignore]
    """Gives `Trainer.fit()` the batches of a plan. Checkpoints keep the place in the plan.

    Parameters
    ----------
    plan, dataset, collator, **options
        Of PlanLoader.
    """

    def __init__(
        self,
        plan: Plan,
        dataset: MapStyleDataset,
        collator: Callable[[FetchedPack], PackedBatch] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._plan, self._dataset, self._collator = plan, dataset, collator
        self._options = options
        self._loader: PlanLoader | None = None
        self._state: Mapping[str, Any] | None = None

    def train_dataloader(self) -> PlanLoader:
        trainer = self.trainer
        self._loader = PlanLoader(
            self._plan,
            self._dataset,
            self._collator,
            rank=trainer.global_rank,
            world_size=trainer.world_size,
            **self._options,
        )
        check_alone(self._loader.schedule)
        _check_strategy(trainer.strategy)
        if self._state is not None:
            self._loader.load_state_dict(self._state)
        return self._loader

    def state_dict(self) -> dict[str, Any]:
        return {} if self._loader is None else self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self._state = state_dict or None


def _check_strategy(strategy: Any) -> None:
    """ValueError for processes that share samples, and for DeepSpeed, which would step by its own count."""
    mesh = getattr(strategy, "device_mesh", None)
    if mesh is not None and "tensor_parallel" in mesh.mesh_dim_names and mesh["tensor_parallel"].size() > 1:
        n_sharing = mesh["tensor_parallel"].size()
        raise ValueError(
            f"strategy: expected tensor_parallel_size 1, got {n_sharing}: each process has packs of its own"
        )
    if hasattr(strategy, "deepspeed_engine"):
        expected = "expected DistributedDataParallel, FSDP or one process"
        raise ValueError(
            f"strategy: {expected}, got {type(strategy).__name__}; engine_loader() trains with DeepSpeed"
        )


class PackedModule(_lightning.LightningModule):  # type: ignore[misc, name-defined, unused-ignore]
    """Trains `self.model`, called with `attention_inputs()`, with a plan's loss.

    It comes before other bases, or alone; `configure_optimizers()` is yours. Optimization is manual: the
    optimizer, and schedulers of interval "step", step behind the last micro-batch of each step of the plan.

    Attributes
    ----------
    model : Module
        Set by your `__init__()`.
    clip_norm : float or None
        Gradients are scaled down to this norm before a step.
    check_isolation : bool
        Run `packsim.torch.check_isolation()` on the first batch.
    """

    model: nn.Module
    clip_norm: float | None = None
    check_isolation = True

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.automatic_optimization = False
        self._packed_loss: PackedLoss | None = None
        self._step_loss: Any = 0.0

    def packed_loss(self, batch: PackedBatch) -> Tensor:
        """Returns the loss of a batch, as `weighted_loss()` has it on the processes of the trainer."""
        if self._packed_loss is None:
            self._packed_loss = PackedLoss(self.trainer.world_size, self.check_isolation)
        return self._packed_loss(self.model, batch, self._n_micro_batches(batch))[0]

    def _n_micro_batches(self, batch: PackedBatch) -> int:
        loader = self.trainer.train_dataloader
        schedule = getattr(loader, "schedule", None) or getattr(
            getattr(loader, "batch_sampler", None), "schedule", None
        )
        return 1 if schedule is None else n_micro_batches(schedule, batch)

    def training_step(self, batch: PackedBatch, batch_index: int) -> None:
        del batch_index
        strategy = self.trainer.strategy
        blocked = None if batch.is_last else getattr(strategy, "block_backward_sync", None)
        with nullcontext() if blocked is None else blocked():
            loss = self.packed_loss(batch)
            self.manual_backward(loss)
        self._step_loss = self._step_loss + loss.detach()
        if batch.is_last:
            # The mean over processes, which the loss is scaled for.
            self.log("train_loss", self._step_loss, sync_dist=True)
            self._step_loss = 0.0
            self._step()

    def _step(self) -> None:
        optimizer = self.optimizers()
        if self.clip_norm is not None:
            # Gradients are scaled until the optimizer steps with precision "16-mixed".
            scaler = getattr(self.trainer.precision_plugin, "scaler", None)
            norm = self.clip_norm if scaler is None else self.clip_norm * scaler.get_scale()
            self.clip_gradients(optimizer, gradient_clip_val=norm, gradient_clip_algorithm="norm")
        optimizer.step()
        optimizer.zero_grad()
        for config in self.trainer.lr_scheduler_configs:
            if config.interval == "step":
                config.scheduler.step()
