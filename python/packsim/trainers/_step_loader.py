"""Whole optimizer steps as the batches of a trainer that counts batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from packsim.torch.loader import PlanLoader
from packsim.torch.mixing import MixtureLoader
from packsim.torch.packed_batch import PackedBatch


class StepBatches(list[PackedBatch]):
    """The micro-batches of one process in one step."""


class StepLoader:
    """Gives the micro-batches of a step at once.

    A trainer that steps behind each of its batches then follows the plan, however many micro-batches its
    iterations have.

    Parameters
    ----------
    loader : PlanLoader or MixtureLoader
        The run of a mixture is one epoch.
    dataset
        What a trainer looks at for the number of samples.
    """

    def __init__(self, loader: PlanLoader | MixtureLoader, dataset: Any) -> None:
        self.loader = loader
        self.dataset = dataset

    def __len__(self) -> int:
        """Steps of an epoch."""
        if isinstance(self.loader, MixtureLoader):
            return self.loader.n_steps
        return self.loader.plan.iterations_per_epoch

    def __iter__(self) -> Iterator[StepBatches]:
        return (StepBatches(step) for step in self.loader.steps())

    def set_epoch(self, epoch: int) -> None:
        if isinstance(self.loader, PlanLoader):
            self.loader.set_epoch(epoch)
