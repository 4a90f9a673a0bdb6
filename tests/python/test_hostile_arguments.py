"""Values that an argument cannot have: an error that names the argument. Never a crash."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_values import ARRAYS, HOSTILE, SCALARS, masked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import packsim

SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
LENGTHS = [5, 3, 2, 7, 4] * 80  # 1680 tokens in 168 full packs of 10
PACKING = packsim.pack(LENGTHS, strategy="ffd", capacity_tokens=10)
PLAN = packsim.make_plan(PACKING, n_gpus=2)

PLAN_ARGUMENTS = [
    "n_gpus",
    "sp_degree",
    "gc_layers",
    "tokens_per_iteration",
    "micro_batches_per_rank",
    "order",
    "last_iteration",
    "curriculum_iterations",
    "epochs",
    "seed",
    "padding",
    "pad_multiple_tokens",
    "loss_tokens",
    "normaliser",
    "name",
]
STREAM_ARGUMENTS = [
    "strategy",
    "capacity_tokens",
    "window_samples",
    "over_long",
    "empty",
    "carry_below_fraction",
    "most_carries",
    "seed",
]
BALANCE_ARGUMENTS = ["n_ranks", "token_budget", "costs", "linear_weight_tokens"]


def names_in(error: BaseException, names: set[str]) -> bool:
    return any(re.search(rf"\b{name}\b", str(error)) for name in names)


def arguments(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), HOSTILE, min_size=1, max_size=2)


@SETTINGS
@given(arguments(PLAN_ARGUMENTS))
def test_any_argument_of_make_plan(given_: dict[str, Any]) -> None:
    try:
        plan = packsim.make_plan(PACKING, **given_)
    except ValueError as error:
        assert names_in(error, set(given_))
        return
    assert plan.n_samples == len(LENGTHS)
    plan.check()
    again = packsim.Plan.from_bytes(plan.to_bytes())
    assert again.content_hash == plan.content_hash


@SETTINGS
@given(arguments(STREAM_ARGUMENTS), HOSTILE | st.just(LENGTHS))
def test_any_argument_of_a_stream_packer(given_: dict[str, Any], lengths: Any) -> None:
    try:
        packer = packsim.StreamPacker(
            **{"strategy": "bfd", "capacity_tokens": 10, "window_samples": 16, **given_}
        )
    except ValueError as error:
        assert names_in(error, set(given_))
        return
    try:
        packer.push(lengths)
    except ValueError as error:
        assert names_in(error, {"lengths_tokens", *given_}) or "expected lengths" in str(error)
    packer.finish()
    counts = packer.counts
    assert counts.n_samples == counts.packed_samples + counts.dropped_samples + counts.empty_samples


@SETTINGS
@given(arguments(BALANCE_ARGUMENTS))
def test_any_argument_of_balance(given_: dict[str, Any]) -> None:
    try:
        division = packsim.balance(LENGTHS, **{"n_ranks": 4, "token_budget": 64, **given_})
    except ValueError as error:
        assert names_in(error, {*given_, "token budget"})
        return
    assert sorted(division.samples.tolist()) == list(range(len(LENGTHS)))


@pytest.mark.parametrize("value", SCALARS + ARRAYS, ids=lambda value: type(value).__name__)
def test_what_no_methods_take_is_refused_by_its_name(value: Any, tmp_path: Path) -> None:
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("normaliser", lambda: PLAN.with_normaliser(value)),
        ("plan|header", lambda: packsim.Plan.from_bytes(value)),
        ("packing", lambda: packsim.make_plan(value)),
        ("lengths_tokens", lambda: PLAN.check_lengths(value)),
    ]
    if value is not None:  # the plan's own
        calls.append(("normaliser", lambda: PLAN.loss_bias(value)))
    if not isinstance(value, str) or value != "x":  # which is a path
        calls += [("path", lambda: packsim.Plan.open(value)), ("path", lambda: PLAN.save(value))]
    for name, call in calls:
        with pytest.raises((ValueError, TypeError), match=rf"\b({name})\b"):
            call()


@pytest.mark.parametrize("index", [None, True, 0.5, float("nan"), "0", [0], 2**63, -(2**63)], ids=repr)
def test_what_is_no_index_is_refused_by_its_name(index: Any) -> None:
    division = packsim.balance(LENGTHS, 4, 64)
    for name, call in [
        ("pack", PACKING.groups[0].pack),
        ("iteration", PLAN.micro_batches),
        ("rank", lambda rank: division.micro_batch(rank, 0)),
        ("index", lambda at: division.micro_batch(0, at)),
    ]:
        with pytest.raises((TypeError, IndexError), match=f"^{name}: expected "):
            call(index)


def test_indices_of_few_bits_count_further_than_their_type() -> None:
    uint8: Any = np.uint8  # for a type checker, no int
    int8: Any = np.int8
    # 300 packs of one sample; 200 ranks of 2 micro-batches: rank 150 begins at micro-batch 300.
    packing = packsim.pack([10] * 300, strategy="ffd", capacity_tokens=10)
    assert packing.groups[0].pack(uint8(200)).tolist() == packing.groups[0].pack(200).tolist()
    assert packing.groups[0].pack(int8(-100)).tolist() == packing.groups[0].pack(200).tolist()
    division = packsim.balance([10] * 400, 200, 10)
    assert division.micro_batches_per_rank == 2
    assert division.micro_batch(uint8(150), 1).tolist() == division.micro_batch(150, 1).tolist()
    plan = packsim.make_plan(packing)
    assert type(plan.micro_batches(uint8(200))[0].iteration) is int


def test_masked_costs_are_refused() -> None:
    with pytest.raises(ValueError, match="costs: expected no masked values"):
        packsim.balance([5, 5], 1, 10, costs=masked([1.0, 2.0]))
    costs = np.ma.array([1.0, 2.0], mask=[False, False])
    assert packsim.balance([5, 5], 1, 10, costs=costs).rank_costs.tolist() == [3.0]


@pytest.mark.parametrize("value", [[], False, 0.0, ""], ids=repr)
def test_what_is_like_nothing_is_not_no_tokens(value: Any) -> None:
    with pytest.raises(ValueError, match="tokens_per_iteration: expected integer in 0.."):
        packsim.make_plan(PACKING, tokens_per_iteration=value)


@pytest.mark.parametrize("changed", [0, 11, 2**31 - 1, -5])
def test_lengths_that_are_changed_after_packing_make_no_plan(changed: int) -> None:
    # A pack of 10 tokens would hold 11 of one sample, and the plan's hash would be that of the new lengths.
    lengths = np.array(LENGTHS, dtype=np.int32)
    packing = packsim.pack(lengths, strategy="ffd", capacity_tokens=10)
    lengths[7] = changed
    with pytest.raises(ValueError, match="packing: expected the lengths that pack"):
        packsim.make_plan(packing)
    lengths[7] = LENGTHS[7]
    assert packsim.make_plan(packing).n_samples == len(LENGTHS)
