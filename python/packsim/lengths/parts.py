"""A part of a source that is cut into chunks of its own: a file, a table, a data set, an iterable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from packsim.lengths.rows import Rows

IsWanted = Callable[[int], bool]
# Chunk index, and its rows; None for a chunk that is not wanted.
Chunk = tuple[int, "Rows | None"]


class Part(Protocol):
    """Chunk k of a part holds its samples k * chunk_samples and on; only the last is shorter."""

    @property
    def place(self) -> str:
        """How errors name it."""

    @property
    def n_samples(self) -> int | None:
        """None where only reading tells."""

    def mistakes(self) -> list[str]:
        """What the head of the part already shows to be wrong, such as a missing column."""

    def identity(self) -> str | None:
        """A text that no other content has; None where nothing tells. May read all of it."""

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        """Every chunk once, in order. `is_wanted` is asked before a chunk's rows are kept."""


def cut(
    pieces: Iterable[tuple[int, Any]], chunk_samples: int, is_wanted: IsWanted
) -> Iterator[tuple[int, int, list[Any] | None]]:
    """Cuts Arrow data at the boundaries of chunks.

    Parameters
    ----------
    pieces : iterable of (int, Any)
        Number of rows, and something with `slice(offset, length)`; None where no chunk in it is wanted.
    chunk_samples : int
        Rows a chunk.
    is_wanted : callable
        Whether a chunk is.

    Yields
    ------
    tuple
        Chunk index, its first row, and its slices, None where it is not wanted.
    """
    index = filled = 0
    kept: list[Any] | None = [] if is_wanted(0) else None
    for n_rows, data in pieces:
        at = 0
        while at < n_rows:
            n_taken = min(n_rows - at, chunk_samples - filled)
            if kept is not None:
                kept.append(data.slice(at, n_taken))
            at += n_taken
            filled += n_taken
            if filled == chunk_samples:
                yield index, index * chunk_samples, kept
                index, filled = index + 1, 0
                kept = [] if is_wanted(index) else None
    if filled:
        yield index, index * chunk_samples, kept


def ranges(n_samples: int, chunk_samples: int) -> Iterator[tuple[int, int, int]]:
    """Chunk index, first row and end row of samples that can be reached at random."""
    for index, first_row in enumerate(range(0, n_samples, chunk_samples)):
        yield index, first_row, min(first_row + chunk_samples, n_samples)
