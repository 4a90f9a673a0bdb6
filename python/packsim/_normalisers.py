"""Rules for what the loss of a token is multiplied by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from packsim import _core
from packsim._arguments import described


@dataclass(frozen=True)
class Normaliser:
    """A row of the table of normalisers.

    Attributes
    ----------
    name, summary, source
        What it is called, what it does, and where it comes from.
    per_sample
        The weight of a token is that of its pack, divided by the loss tokens of its sample.
    """

    name: str
    summary: str
    source: str
    per_sample: bool


@dataclass(frozen=True)
class LossBias:
    """How a normaliser's loss differs from the mean over all loss tokens of each iteration.

    Attributes
    ----------
    misplaced_fraction
        Share of the loss's weight that lies on other tokens than in that mean; 0: none.
    long_sample_weight
        What a token of the longest samples, those with half of all loss tokens, weighs; 1: as much as others.
    least_sum, most_sum
        The sum of all weights of an iteration, least and most: 1 where the loss is a mean.
    """

    misplaced_fraction: float
    long_sample_weight: float
    least_sum: float
    most_sum: float


@lru_cache(maxsize=1)
def normalisers() -> tuple[Normaliser, ...]:
    """Every normaliser; the first one is what plans have where nothing else is asked for."""
    return tuple(Normaliser(**row) for row in _core.normalisers())


def find_normaliser(name: object) -> Normaliser:
    for row in normalisers():
        if row.name == name:
            return row
    known = ", ".join(row.name for row in normalisers())
    raise ValueError(f"normaliser: expected one of {known}, got {described(name)}")
