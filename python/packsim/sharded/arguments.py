"""How every shard of a data set is packed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import Problems
from packsim._options import DEFAULT_SEED
from packsim._pack import pack
from packsim._packing import Packing
from packsim._strategies import Strategy, find_strategy

_MOST_LEFTOVER_SAMPLES = 1 << 24


@dataclass(frozen=True)
class ShardArguments:
    """How every shard is packed: the arguments of `packsim.pack`, and what is packed again at the join.

    Attributes
    ----------
    strategy, capacity_tokens, over_long, empty, window_samples, seed, options
        As `packsim.pack` takes them; `options` are those of the strategy. Strategies with one capacity, whose
        samples share a row and which form no iterations.
    leftover_below_fraction : float
        Packs that are filled less than this are leftovers: the join packs their samples again, those of all
        shards together, and keeps the result where it has fewer packs. 0: none.
    leftover_samples : int
        At most so many samples of a shard are leftovers, those of the worst packs first. It bounds the memory
        of the join.
    """

    strategy: str
    capacity_tokens: int
    over_long: Literal["error", "drop", "truncate", "split", "own_pack"] = "error"
    empty: Literal["drop", "keep", "error"] = "drop"
    window_samples: int | None = None
    seed: int = DEFAULT_SEED
    options: Mapping[str, Any] = field(default_factory=dict)
    leftover_below_fraction: float = 0.99
    leftover_samples: int = 16384

    def __post_init__(self) -> None:
        row = find_strategy(self.strategy)
        problems = Problems()
        problems.fraction("leftover_below_fraction", self.leftover_below_fraction)
        problems.integer("leftover_samples", self.leftover_samples, 0, _MOST_LEFTOVER_SAMPLES)
        if not isinstance(self.options, Mapping):
            problems.add(f"options: expected a mapping, got {type(self.options).__name__}")
            problems.raise_if_any()
        if row.forms_iterations or row.several_capacities or row.layout != "packed":
            known = "one capacity, samples that share a row, and no iterations"
            problems.add(f"strategy: expected one with {known}, got {row.name}")
            problems.raise_if_any()
        if isinstance(self.capacity_tokens, bool) or not isinstance(self.capacity_tokens, (int, np.integer)):
            problems.add(f"capacity_tokens: expected one integer, got {self.capacity_tokens!r:.60}")
            problems.raise_if_any()
        with problems.collected():
            self.pack(np.zeros(0, dtype=np.int32))
        problems.raise_if_any()

    @property
    def row(self) -> Strategy:
        """The table's row of the strategy."""
        return find_strategy(self.strategy)

    def pack(self, lengths_tokens: NDArray[np.int32], over_long: str | None = None) -> Packing:
        """The packing of some lengths; ValueError names samples that cannot be packed."""
        arguments: dict[str, Any] = dict(self.options)
        return pack(
            lengths_tokens,
            strategy=self.strategy,
            capacity_tokens=self.capacity_tokens,
            over_long=over_long or self.over_long,  # type: ignore[arg-type]
            empty=self.empty,
            window_samples=self.window_samples,
            seed=self.seed,
            **arguments,
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns what records keep. A default that is written out is the same as one that is not."""
        window = self.row.default_window_samples if self.window_samples is None else int(self.window_samples)
        return {
            "strategy": self.strategy,
            "capacity_tokens": int(self.capacity_tokens),
            "over_long": self.over_long,
            "empty": self.empty,
            "window_samples": window,
            "seed": int(self.seed),
            "options": {name: _plain(value) for name, value in sorted(self.options.items())},
            "leftover_below_fraction": float(self.leftover_below_fraction),
            "leftover_samples": int(self.leftover_samples),
        }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
