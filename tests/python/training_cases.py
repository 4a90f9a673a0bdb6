"""Plans, small data sets and pairs of processes that tests of packsim.torch share."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from cases import REPOSITORY
from numpy.typing import NDArray

import packsim

EXAMPLES = REPOSITORY / "examples"
# The tests train the model of the examples.
sys.path.insert(0, str(EXAMPLES))

VOCABULARY = 61


def token_ids(lengths_tokens: NDArray[Any] | list[int], seed: int = 0) -> list[NDArray[np.int64]]:
    """A data set: random ids of each length, none of them 0, which pads."""
    generator = np.random.default_rng(seed)
    return [generator.integers(1, VOCABULARY, int(n)) for n in lengths_tokens]


def drawn_lengths(n_samples: int, seed: int, longest_tokens: int) -> NDArray[np.int32]:
    draws = np.random.RandomState(seed).lognormal(2.2, 0.9, n_samples)
    return np.clip(draws, 1, longest_tokens).astype(np.int32)


def strategy_arguments(
    row: packsim.Strategy, n_gpus: int, capacity_tokens: int = 64, rounds: int = 2, sp_degree: int = 1
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of pack() and of make_plan(), for iterations of `rounds` packs a GPU."""
    packing: dict[str, Any] = {"strategy": row.name, "capacity_tokens": capacity_tokens}
    planning: dict[str, Any] = {"n_gpus": n_gpus, "micro_batches_per_rank": rounds, "sp_degree": sp_degree}
    # Those that form iterations of several degrees take no degree twice.
    if row.several_capacities and (sp_degree > 1 or not row.forms_iterations):
        packing["capacity_tokens"] = [capacity_tokens // 4, capacity_tokens]
        planning["sp_degree"] = [1, sp_degree]
    if row.forms_iterations:
        packing |= {"n_gpus": n_gpus, "tokens_per_iteration": rounds * n_gpus * capacity_tokens}
        packing["sp_degree"] = planning["sp_degree"]
        planning = {}
    return packing, planning


def plan_of(
    row: packsim.Strategy,
    lengths_tokens: NDArray[np.int32],
    n_gpus: int,
    *,
    sp_degree: int = 1,
    rounds: int = 2,
    over_long: Any = "error",
    **more: Any,
) -> packsim.Plan:
    packing, planning = strategy_arguments(row, n_gpus, rounds=rounds, sp_degree=sp_degree)
    packed = packsim.pack(lengths_tokens, over_long=over_long, **packing)
    return packsim.make_plan(packed, **planning, **more)
