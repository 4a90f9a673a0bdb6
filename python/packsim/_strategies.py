"""The strategy table of the core."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from packsim import _core
from packsim._arguments import row_named


@dataclass(frozen=True)
class Strategy:
    """A way to pack, as `packsim list strategies` shows it.

    Attributes
    ----------
    name
        What `packsim.pack` calls it.
    summary, complexity, source
        What it does, what that costs for N samples, and who published it.
    layout
        "packed": the samples of a pack are one row. "rows": a row each.
    options
        The names of the options that it reads; `packsim.options` describes them.
    default_order
        How packs become iterations where nothing else is asked for.
    default_padding
        What rows are padded to where nothing else is asked for.
    default_window_samples
        It packs every so many samples on their own where nothing else is asked for; 0: all together.
    cuts_samples
        It cuts samples wherever a pack ends.
    several_capacities
        It takes several pack lengths; the others take one.
    forms_iterations
        It forms whole iterations, and needs `n_gpus` and `tokens_per_iteration`.
    needs_prices
        It plans by what packs cost on a cluster: the command `packsim run` packs with it, for the model and
        cluster of a scenario; `packsim.pack` cannot.
    """

    name: str
    summary: str
    complexity: str
    source: str
    layout: Literal["packed", "rows"]
    options: tuple[str, ...]
    default_order: str
    default_padding: str
    default_window_samples: int
    cuts_samples: bool
    several_capacities: bool
    forms_iterations: bool
    needs_prices: bool


@cache
def strategies() -> tuple[Strategy, ...]:
    """Every strategy, in the order in which lists show them."""
    return tuple(
        Strategy(**{**row, "options": tuple(option["name"] for option in row["options"])})
        for row in _core.strategies()
    )


def find_strategy(name: object) -> Strategy:
    return row_named("strategy", name, strategies())
