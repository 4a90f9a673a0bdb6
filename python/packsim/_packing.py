"""What pack() returns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._arguments import index_of


@dataclass(frozen=True)
class SampleCounts:
    """What became of samples, in samples and tokens: every one is packed, held, or counted here.

    Attributes
    ----------
    n_samples, n_tokens
        Of the data, or taken from the stream so far.
    dropped_samples, dropped_tokens
        Over-long, left out.
    empty_samples
        Without tokens, left out.
    truncated_samples, truncated_tokens
        Samples that were cut short and are packed, and the tokens cut off.
    """

    n_samples: int
    n_tokens: int
    dropped_samples: int
    dropped_tokens: int
    empty_samples: int
    truncated_samples: int
    truncated_tokens: int


@dataclass(frozen=True)
class PackCounts(SampleCounts):
    """The counts of a data set, beside those of `SampleCounts`.

    Attributes
    ----------
    split_samples
        Packed in several pieces; nothing lost.
    own_pack_samples
        Over-long, in a pack of their own.
    """

    split_samples: int
    own_pack_samples: int


@dataclass(frozen=True)
class PackStatistics:
    """How well packs are filled.

    Attributes
    ----------
    n_packs
        Over all groups.
    samples_per_pack, tokens_per_pack
        Means.
    fill_fraction
        Tokens over pack length, packs of over-long samples left out; nan for strategies of layout "rows".
    squared_length_per_sample, squared_length_per_pack
        Means of length squared, and of its sum over a pack: proportional to the work of attention.
    """

    n_packs: int
    samples_per_pack: float
    tokens_per_pack: float
    fill_fraction: float
    squared_length_per_sample: float
    squared_length_per_pack: float


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


class PackGroup:
    """The packs of one pack length: a sequence of arrays of sample indices.

    All arrays are read-only. Pack p is `samples[offsets[p]:offsets[p + 1]]`, and the same places of
    `starts_tokens` and `tokens`.

    Attributes
    ----------
    capacity_tokens : int
        Pack length.
    offsets : ndarray of uint32, shape (n_packs + 1,)
        Where packs begin and end.
    """

    def __init__(
        self,
        capacity_tokens: int,
        offsets: NDArray[np.uint32],
        items: NDArray[np.uint32],
        pieces: NDArray[np.void],
        lengths_tokens: NDArray[np.int32],
    ) -> None:
        self.capacity_tokens = capacity_tokens
        self.offsets = offsets
        self._items = items
        self._pieces = pieces  # none: item i is the whole of sample i
        self._lengths_tokens = lengths_tokens

    def _of_pieces(self, name: str) -> NDArray[Any]:
        return _read_only(self._pieces[name][self._items])

    @cached_property
    def samples(self) -> NDArray[np.uint32]:
        """Shape (n_items,): the samples of pack after pack, each in the order in which they were placed."""
        return self._of_pieces("sample_index") if len(self._pieces) else self._items

    @cached_property
    def starts_tokens(self) -> NDArray[np.int32]:
        """Shape (n_items,): the first token of the sample that is in the pack; over 0 where it is cut."""
        if len(self._pieces):
            return self._of_pieces("start_token")
        return _read_only(np.zeros(len(self._items), dtype=np.int32))

    @cached_property
    def tokens(self) -> NDArray[np.int32]:
        """Shape (n_items,): how many tokens of the sample are in the pack."""
        if len(self._pieces):
            return self._of_pieces("n_tokens")
        return _read_only(self._lengths_tokens[self._items])

    def pack_tokens(self) -> NDArray[np.int64]:
        """Shape (n_packs,): tokens of each pack."""
        if len(self) == 0:
            return np.zeros(0, dtype=np.int64)
        # No pack is empty, as reduceat needs it.
        return np.add.reduceat(self.tokens, self.offsets[:-1].astype(np.intp), dtype=np.int64)

    def pack(self, index: int) -> NDArray[np.uint32]:
        """The samples of one pack, as a view of `samples`."""
        n_packs, index = len(self), index_of("pack", index)
        if not -n_packs <= index < n_packs:
            raise IndexError(f"pack: expected index in {-n_packs}..{n_packs - 1}, got {index}")
        index %= n_packs
        return self.samples[int(self.offsets[index]) : int(self.offsets[index + 1])]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.uint32]:
        return self.pack(index)

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        samples = self.samples
        bounds = self.offsets.tolist()
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            yield samples[begin:end]

    def __repr__(self) -> str:
        return f"<PackGroup of {len(self)} packs of {self.capacity_tokens} tokens, {len(self._items)} items>"

    def __getstate__(self) -> dict[str, Any]:
        names = ("capacity_tokens", "offsets", "samples", "starts_tokens", "tokens")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                _read_only(value)
        self.__dict__.update(state)
        self._items = self.samples
        self._pieces = np.zeros(0, dtype=np.void)
        self._lengths_tokens = np.zeros(0, dtype=np.int32)


class Packing:
    """Which samples share a pack, and what became of every sample.

    Attributes
    ----------
    strategy : str
    capacities_tokens : tuple of int
        Pack length of each group.
    counts : PackCounts
    groups : tuple of PackGroup
        One for each capacity.
    placed : structured ndarray of pack, first_gpu, group, round, after_barrier
        Of strategies that form iterations: every pack once, on the GPUs from `first_gpu` on, iteration after
        iteration. Empty for other strategies.
    iterations : structured ndarray of first_placed, n_placed
        Of strategies that form iterations: which part of `placed` each trains.
    """

    strategy: str
    capacities_tokens: tuple[int, ...]
    counts: PackCounts
    groups: tuple[PackGroup, ...]
    placed: NDArray[np.void]
    iterations: NDArray[np.void]

    @classmethod
    def _of_core(
        cls,
        core: _core.Packing,
        lengths_tokens: NDArray[np.int32],
        strategy: str,
        capacities_tokens: tuple[int, ...],
    ) -> Packing:
        packing = cls.__new__(cls)
        packing.strategy = strategy
        packing.capacities_tokens = capacities_tokens
        packing.counts = PackCounts(**core.counts)
        pieces = core.pieces()
        packing.groups = tuple(
            PackGroup(capacity, core.offsets(group), core.items(group), pieces, lengths_tokens)
            for group, capacity in enumerate(capacities_tokens)
        )
        packing.placed = core.placed()
        packing.iterations = core.iterations()
        packing._core = core
        return packing

    _core: _core.Packing

    @cached_property
    def statistics(self) -> PackStatistics:
        """How well packs are filled."""
        return PackStatistics(**self._core.statistics())

    @property
    def n_packs(self) -> int:
        """Packs of all groups."""
        return sum(len(group) for group in self.groups)

    def __repr__(self) -> str:
        capacities = " and ".join(map(str, self.capacities_tokens))
        fill = self.statistics.fill_fraction
        shown = "" if math.isnan(fill) else f", fill {fill:.4f}"
        n_samples = self.counts.n_samples - self.counts.dropped_samples - self.counts.empty_samples
        packs = f"{self.n_packs} packs of {capacities} tokens"
        return f"<Packing by {self.strategy}: {n_samples} samples in {packs}{shown}>"

    def __getstate__(self) -> dict[str, Any]:
        names = ("strategy", "capacities_tokens", "counts", "groups", "placed", "iterations", "statistics")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        _read_only(state["placed"])
        _read_only(state["iterations"])
        self.__dict__.update(state)
