"""Rules for what the loss of a token is multiplied by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from packsim import _core
from packsim._arguments import row_named


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


@cache
def normalisers() -> tuple[Normaliser, ...]:
    """Every normaliser; the first one is what plans have where nothing else is asked for."""
    return tuple(Normaliser(**row) for row in _core.normalisers())


def find_normaliser(name: object) -> Normaliser:
    return row_named("normaliser", name, normalisers())


@dataclass(frozen=True)
class StepLoss:
    """What the ranks train in one optimizer step.

    Attributes
    ----------
    n_packs, loss_tokens, n_samples
        Of each rank: packs that are not empty, their tokens with loss, and their samples that have any.
    """

    n_packs: tuple[int, ...]
    loss_tokens: tuple[int, ...]
    n_samples: tuple[int, ...]


def pack_weight(normaliser: Normaliser, step: StepLoss, rank: int, loss_tokens: int, n_samples: int) -> float:
    """The weight of a pack of a rank, which `make_plan()` gives it where a step is an iteration.

    What the loss of its tokens is multiplied by, after division by the loss tokens of their sample where
    `normaliser.per_sample`. packing/loss/normalisers.cpp has the same rules for plans.
    """
    if loss_tokens == 0:
        return 0.0
    if normaliser.name == "sum":
        return 1.0
    # A part of the mean over ranks of the mean over a rank's packs.
    rank_share = 1.0 / step.n_packs[rank] / len(step.n_packs)
    return {
        "stable": 1.0 / sum(step.loss_tokens),
        "token_mean": rank_share / loss_tokens,
        "sample_mean": rank_share / n_samples,
        "longalign": 1.0 / sum(step.n_samples),
    }[normaliser.name]
