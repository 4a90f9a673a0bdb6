"""Whose failure it is decides the type; `OSError` with the path is the machine's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

MOST_SHOWN = 10


class LengthsError(ValueError):
    """Mistakes in what was given, one a line, each with its place, what was expected and what came."""


class CacheWarning(UserWarning):
    """A stored chunk is damaged: it was measured again."""


def raise_if_any(mistakes: Sequence[str]) -> None:
    """LengthsError with all of them."""
    if mistakes:
        raise LengthsError("\n".join(mistakes))


def first_of(mistakes: list[str]) -> list[str]:
    """The first ten, and how many there are."""
    if len(mistakes) <= MOST_SHOWN:
        return mistakes
    return [*mistakes[:MOST_SHOWN], f"{len(mistakes)} mistakes; these are the first {MOST_SHOWN}"]


@contextmanager
def collected(mistakes: list[str], place: str = "") -> Iterator[None]:
    """A LengthsError of the block becomes one of the mistakes. place: goes before it."""
    try:
        yield
    except LengthsError as mistake:
        mistakes.append(f"{place}{mistake}")
