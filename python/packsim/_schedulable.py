"""What a plan must offer to be shared out to processes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from packsim._micro_batch import MicroBatch
from packsim._plan import PlanGroup


class Schedulable(Protocol):
    """A `Plan`, a `RepackedPlan` or a `packsim.sharded.ShardedPlan`, whose attributes mean the same."""

    facts: dict[str, Any]
    groups: tuple[PlanGroup, ...]

    @property
    def content_hash(self) -> str: ...
    @property
    def n_gpus(self) -> int: ...
    @property
    def n_epochs(self) -> int: ...
    @property
    def n_iterations(self) -> int: ...
    @property
    def iterations_per_epoch(self) -> int: ...
    @property
    def n_samples(self) -> int: ...

    def _placed_in(self, iteration: int) -> tuple[int, NDArray[np.void]]:
        """(index of the first, the placed packs) of an iteration: first_gpu, group and round of each."""

    def _micro_batch(self, iteration: int, placed_index: int) -> MicroBatch: ...
