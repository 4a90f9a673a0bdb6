"""Samples of a data set in shards by their 64-bit ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from packsim._arguments import Problems, described
from packsim.sharded.errors import ShardError
from packsim.sharded.packs import ShardedPacks


class ShardedDataset:
    """A map-style data set over shards, for PlanLoader beside a ShardedPlan.

    Parameters
    ----------
    packs : ShardedPacks
    open_shard : callable
        From the number of a shard to its map-style data set, with samples in the order of its lengths.
        Called when a sample of the shard is asked for; with workers it must be picklable.
    most_open : int
        Shards that stay open at a time; the one used longest ago is let go first.
    """

    def __init__(
        self, packs: ShardedPacks, open_shard: Callable[[int], Any], *, most_open: int = 256
    ) -> None:
        with Problems() as problems:
            self._most_open = problems.integer("most_open", most_open, 1, 1 << 20)
            if not callable(open_shard):
                problems.add(f"open_shard: expected a callable, got {described(open_shard)}")
        self._first_samples = packs.first_samples
        self._open_shard = open_shard
        self._open: OrderedDict[int, Any] = OrderedDict()

    def __len__(self) -> int:
        return int(self._first_samples[-1])

    def __getitem__(self, sample: int) -> Any:
        shard, index = self.locate(sample)
        return self._shard(shard)[index]

    def __getitems__(self, samples: Sequence[int]) -> list[Any]:
        """What PlanLoader calls with the samples of a pack."""
        return [self[sample] for sample in samples]

    def locate(self, sample: int) -> tuple[int, int]:
        """(shard, index in the shard) of a sample."""
        if not 0 <= sample < len(self):
            raise IndexError(f"sample: expected 0..{len(self) - 1}, got {sample}")
        shard = int(np.searchsorted(self._first_samples, sample, side="right")) - 1
        return shard, sample - int(self._first_samples[shard])

    def _shard(self, shard: int) -> Any:
        opened = self._open.pop(shard, None)
        if opened is None:
            opened = self._open_shard(shard)
            n_samples = int(self._first_samples[shard + 1] - self._first_samples[shard])
            if len(opened) != n_samples:
                expected = f"expected {n_samples} samples, of which the packs were made"
                raise ShardError(f"shard {shard}: {expected}, got {len(opened)}")
            if len(self._open) >= self._most_open:
                self._open.popitem(last=False)
        self._open[shard] = opened
        return opened

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_open": OrderedDict()}
