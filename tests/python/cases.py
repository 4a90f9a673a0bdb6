"""What several tests pack: lengths like those of training data, and arguments that every strategy takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import packsim

REPOSITORY = Path(__file__).resolve().parents[2]
CAPACITY_TOKENS = 4096


def heavy_tailed(n_samples: int, seed: int, longest_tokens: int) -> NDArray[np.int32]:
    draws = np.random.RandomState(seed).lognormal(6.0, 1.2, n_samples)
    return np.clip(draws, 1, longest_tokens).astype(np.int32)


def arguments_of(row: packsim.Strategy) -> dict[str, Any]:
    """Arguments beside the lengths with which a strategy packs."""
    arguments: dict[str, Any] = {"strategy": row.name, "capacity_tokens": CAPACITY_TOKENS}
    if row.several_capacities:
        arguments["capacity_tokens"] = [512, CAPACITY_TOKENS]
    if row.forms_iterations:
        arguments |= {"n_gpus": 8, "tokens_per_iteration": 16 * CAPACITY_TOKENS}
        arguments["sp_degree"] = [1, 4] if row.several_capacities else 2
    return arguments


def rows() -> list[packsim.Strategy]:
    """Every strategy that packs without prices."""
    return [row for row in packsim.strategies() if not row.needs_prices]
