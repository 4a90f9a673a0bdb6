"""make_plan(): from packs to a schedule of iterations on GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from packsim import _core
from packsim._arguments import Problems, described, is_text
from packsim._lengths_array import LengthsLike
from packsim._loss_spans import LossSpans, losses_of_items
from packsim._normalisers import normalisers
from packsim._pack import MOST_GPUS, MOST_TOKENS
from packsim._packing import Packing
from packsim._plan import Plan
from packsim._strategies import find_strategy

_ORDERS = ("as_packed", "neighbours", "shuffled", "balanced")
_LAST_ITERATIONS = ("drop", "repeat", "shorten")
_PADDINGS = ("none", "longest", "capacity", "multiple")
_MOST_EPOCHS = 1 << 16
_MOST_LAYERS = 1 << 16


def make_plan(
    packing: Packing,
    *,
    n_gpus: int | None = None,
    sp_degree: int | Sequence[int] | None = None,
    gc_layers: int | Sequence[int] = 0,
    tokens_per_iteration: int | None = None,
    micro_batches_per_rank: int | None = None,
    order: Literal["as_packed", "neighbours", "shuffled", "balanced"] | None = None,
    last_iteration: Literal["drop", "repeat", "shorten"] = "repeat",
    curriculum_iterations: int = 0,
    epochs: int = 1,
    seed: int = 1024,
    padding: Literal["none", "longest", "capacity", "multiple"] | None = None,
    pad_multiple_tokens: int = 1,
    loss_tokens: LengthsLike | LossSpans | None = None,
    normaliser: str = "stable",
    name: str | None = None,
) -> Plan:
    """Put packs together to iterations on GPUs, as the command `packsim` does.

    Parameters
    ----------
    packing : Packing
        What `pack()` returned.
    n_gpus : int
        GPUs that packs are dealt out to. Strategies that form iterations have been told by `pack()`.
    sp_degree : int or sequence of int
        GPUs that share a pack, one number or one for each capacity (default 1, or what `pack()` was told).
    gc_layers : int or sequence of int
        Layers that the trainer recomputes in the backward pass, one number or one for each capacity.
    tokens_per_iteration : int
        Tokens of one iteration over all GPUs: each rank has as many packs as fit, at least one.
    micro_batches_per_rank : int
        Instead of tokens_per_iteration; 1 where neither is given.
    order : {"as_packed", "neighbours", "shuffled", "balanced"}
        How packs become iterations; by default the strategy's own.
    last_iteration : {"drop", "repeat", "shorten"}
        Packs that are too few for an iteration: leave them out, fill up with packs that are trained once
        more, or run it with what is left. All of it is counted in the plan's facts.
    curriculum_iterations : int
        So many short iterations start the first epoch: of the first capacity if there are several, otherwise
        those with the least attention work. Not with the order "as_packed".
    epochs, seed : int
        Epoch e shuffles packs with seed + e.
    padding, pad_multiple_tokens
        What the trainer pads to; the collator reads it from the plan. By default the longest row of a
        micro-batch for strategies whose samples are rows of their own, and nothing for others.
    loss_tokens : LossSpans or array_like of int, shape (n_samples,), optional
        Which tokens of each sample have loss, or how many, by default all but the first. Packings that cut
        samples need LossSpans, as `measure_lengths(...).loss_spans` has them.
    normaliser : str
        Of the loss weights, one of `normalisers()`.
    name : str, optional
        Of the plan in reports; by default the strategy's.

    Raises
    ------
    ValueError
        For arguments that are wrong, all of them at once, and where the lengths were changed since `pack()`.
    """
    if not isinstance(packing, Packing) or not hasattr(packing, "_core"):
        got = "a copy" if isinstance(packing, Packing) else described(packing)
        raise ValueError(f"packing: expected what pack() returned in this process, got {got}")
    row = find_strategy(packing.strategy)
    n_groups = len(packing.capacities_tokens)
    problems = Problems()

    def of_groups(argument: str, value: object, low: int, high: int) -> list[int]:
        values = problems.integers(argument, value, low, high)
        if len(values) not in (1, n_groups):
            problems.add(
                f"{argument}: expected one, or one for each of {n_groups} capacities, got {len(values)}"
            )
        return values if len(values) == n_groups else values[:1] * n_groups

    setting = packing._core.setting
    counts = {
        "n_gpus": n_gpus,
        "sp_degree": sp_degree,
        "tokens_per_iteration": tokens_per_iteration,
        "micro_batches_per_rank": micro_batches_per_rank,
    }
    given: dict[str, Any] = {argument: value for argument, value in counts.items() if value is not None}
    if row.forms_iterations:
        for argument in given:
            problems.add(f"{argument}: expected none for {row.name}, whose iterations pack() has formed")
        gpus, degrees, tokens = setting["n_gpus"], setting["sp_degrees"], setting["tokens_per_iteration"]
        rounds = 1
    else:
        gpus = problems.integer("n_gpus", given.get("n_gpus", 1), 1, MOST_GPUS)
        degrees = of_groups("sp_degree", given.get("sp_degree", 1), 1, MOST_GPUS)
        tokens = problems.integer(
            "tokens_per_iteration", given.get("tokens_per_iteration", 0), 0, MOST_TOKENS
        )
        rounds = problems.integer(
            "micro_batches_per_rank", given.get("micro_batches_per_rank", 1), 1, 1 << 16
        )
        if tokens > 0 and micro_batches_per_rank is not None:
            problems.add("micro_batches_per_rank: expected none beside tokens_per_iteration, which says it")
        for index, degree in enumerate(degrees):
            if gpus % degree != 0:
                problems.add(f"sp_degree[{index}]: expected a divisor of {gpus} GPUs, got {degree}")
    layers = of_groups("gc_layers", gc_layers, 0, _MOST_LAYERS)
    losses = np.zeros(0, dtype=np.int32)
    if loss_tokens is not None:
        with problems.collected():
            losses = losses_of_items(packing, loss_tokens)
    policy, multiple = checked_padding(row.default_padding if padding is None else padding, pad_multiple_tokens, problems)
    arguments = {
        "order": problems.word("order", row.default_order if order is None else order, _ORDERS),
        "last_iteration": problems.word("last_iteration", last_iteration, _LAST_ITERATIONS),
        "curriculum_iterations": problems.integer(
            "curriculum_iterations", curriculum_iterations, 0, 2**31 - 1
        ),
        "epochs": problems.integer("epochs", epochs, 1, _MOST_EPOCHS),
        "seed": problems.integer("seed", seed, 0, 2**32 - 1),
        "normaliser": problems.word("normaliser", normaliser, [one.name for one in normalisers()]),
    }
    if name is not None and not is_text(name):
        problems.add(f"name: expected text, got {described(name)}")
    problems.raise_if_any()
    return Plan(
        _core.make_plan(
            packing._core,
            n_gpus=gpus,
            sp_degrees=degrees,
            gc_layers=layers,
            tokens_per_iteration=tokens,
            micro_batches_per_rank=rounds,
            padding=policy,
            pad_multiple_tokens=multiple,
            loss_tokens=losses,
            name=name or packing.strategy,
            **arguments,
        )
    )


def checked_padding(padding: object, pad_multiple_tokens: object, problems: Problems) -> tuple[str, int]:
    """What a trainer pads to, of plans of all kinds."""
    multiple = problems.integer("pad_multiple_tokens", pad_multiple_tokens, 1, _core.longest_capacity_tokens)
    policy = problems.word("padding", padding, _PADDINGS)
    if (policy == "multiple") != (multiple > 1):
        problems.add('pad_multiple_tokens: expected with padding "multiple", and only with it')
    return policy, multiple
