"""A part of a source that is cut into chunks of its own: a file, a table, a data set, an iterable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import Any

from packsim.lengths.rows import Rows

IsWanted = Callable[[int], bool]
# Chunk index, and its rows; None for a chunk that is not wanted.
Chunk = tuple[int, "Rows | None"]


class Part(ABC):
    """Chunk k of a part holds its samples k * chunk_samples and on; only the last is shorter.

    Attributes
    ----------
    place : str
        How errors name it.
    """

    place: str

    @property
    @abstractmethod
    def n_samples(self) -> int | None:
        """None where only reading tells."""

    def mistakes(self) -> list[str]:
        """What the head of the part already shows to be wrong, such as a missing column."""
        return []

    def identity(self) -> str | None:
        """A text that no other content has; None where nothing tells. May read all of it."""
        return None

    @abstractmethod
    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        """Every chunk once, in order. `is_wanted` is asked before a chunk's rows are kept."""


def in_turn(
    samples: Iterable[Any], chunk_samples: int, is_wanted: IsWanted, rows: Callable[[int, list[Any]], Rows]
) -> Iterator[Chunk]:
    """The chunks of samples one after another. rows: of the first row and the samples from there."""
    iterator = iter(samples)
    for index in count():
        chunk = list(islice(iterator, chunk_samples))
        if not chunk:
            return
        yield index, rows(index * chunk_samples, chunk) if is_wanted(index) else None


def at_random(
    n_samples: int, chunk_samples: int, is_wanted: IsWanted, rows: Callable[[int, int], Rows]
) -> Iterator[Chunk]:
    """The chunks of samples that can be reached at random. rows: from a first row to an end row."""
    for index, first_row, end_row in ranges(n_samples, chunk_samples):
        yield index, rows(first_row, end_row) if is_wanted(index) else None


def ranges(n_samples: int, chunk_samples: int) -> Iterator[tuple[int, int, int]]:
    """Chunk index, first row and end row of samples that can be reached at random."""
    for index, first_row in enumerate(range(0, n_samples, chunk_samples)):
        yield index, first_row, min(first_row + chunk_samples, n_samples)
