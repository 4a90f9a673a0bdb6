"""What all plans have in common: iterations one after another, each of micro-batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import index_of
from packsim._micro_batch import MicroBatch

if TYPE_CHECKING:
    from packsim._plan import PlanGroup


class Iterations(ABC):
    """A `Plan`, a `RepackedPlan` or a `packsim.sharded.ShardedPlan`: what is shared out to processes.

    Attributes
    ----------
    facts : dict
    groups : tuple of PlanGroup
    content_hash : str
        16 hexadecimal digits that tell plans apart.
    n_samples : int
        Samples of the data set, those that were left out among them.
    iterations_per_epoch : int
    """

    facts: dict[str, Any]
    groups: tuple[PlanGroup, ...]
    content_hash: str
    n_samples: int
    iterations_per_epoch: int

    @property
    def n_gpus(self) -> int:
        """GPUs that packs are placed on; tensor-parallel groups and pipelines count as one."""
        return int(self.facts["n_gpus"])

    @property
    def n_epochs(self) -> int:
        return int(self.facts["epochs"])

    @property
    def n_iterations(self) -> int:
        """Optimizer steps of all epochs."""
        return self.iterations_per_epoch * self.n_epochs

    def micro_batches(self, iteration: int) -> list[MicroBatch]:
        """The packs of an iteration on all GPUs, rounds ascending."""
        iteration = index_of("iteration", iteration)
        first, placed = self._placed_in(iteration)
        return [self._micro_batch(iteration, first + index) for index in range(len(placed))]

    def __iter__(self) -> Iterator[list[MicroBatch]]:
        """Iteration after iteration, of all epochs."""
        return (self.micro_batches(iteration) for iteration in range(self.n_iterations))

    def __len__(self) -> int:
        return self.n_iterations

    def _check(self, iteration: int) -> None:
        if not 0 <= iteration < self.n_iterations:
            raise IndexError(f"iteration: expected 0..{self.n_iterations - 1}, got {iteration}")

    @abstractmethod
    def _placed_in(self, iteration: int) -> tuple[int, NDArray[np.void]]:
        """(index of the first, the placed packs) of an iteration: first_gpu, group and round of each."""

    @abstractmethod
    def _micro_batch(self, iteration: int, placed_index: int) -> MicroBatch: ...
