"""Arguments beside the lengths: all mistakes at once, each with its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packsim

LENGTHS = np.array([5, 3, 2, 7, 4], dtype=np.int32)


def mistakes(strategy: Any = "bfd", capacity_tokens: Any = 10, **arguments: Any) -> str:
    with pytest.raises(ValueError) as caught:
        packsim.pack(LENGTHS, strategy=strategy, capacity_tokens=capacity_tokens, **arguments)
    return str(caught.value)


def test_an_unknown_strategy_is_named_with_the_nearest() -> None:
    assert "strategy: expected one of none, random, " in mistakes("bfdd")
    assert "(did you mean bfd?), got 'bfdd'" in mistakes("bfdd")
    assert "did you mean" not in mistakes("Z")
    assert mistakes(None).endswith("got None")
    assert mistakes(["bfd"]).endswith("got ['bfd']")


def test_strategies_that_need_prices_say_so() -> None:
    assert "expected one that needs no prices, got planner; packsim run packs with it, " in mistakes(
        "planner"
    )
    assert "expected one that needs no prices, got flexsp; " in mistakes("flexsp")


@pytest.mark.parametrize(
    ("capacity_tokens", "message"),
    [
        (0, "capacity_tokens: expected integer in 1..16777216, got 0 (int)"),
        (-1, "got -1 (int)"),
        (2**24 + 1, "got 16777217 (int)"),
        (10**30, "capacity_tokens: expected integer"),
        (10.0, "got 10.0 (float)"),
        (True, "got True (bool)"),
        ("10", "got '10' (str)"),
        (None, "got None (NoneType)"),
        ([], "capacity_tokens: expected at least one integer, got none"),
        ([10, "x"], "capacity_tokens[1]: expected integer in 1..16777216, got 'x' (str)"),
        ([10, 20], "capacity_tokens: expected one pack length for bfd, got 2"),
    ],
)
def test_pack_lengths_are_checked(capacity_tokens: Any, message: str) -> None:
    assert message in mistakes(capacity_tokens=capacity_tokens)


def test_pack_lengths_of_hbp_ascend() -> None:
    assert "capacity_tokens[1]: expected 21..16777216, got 10" in mistakes("hbp", [20, 10])
    assert packsim.pack(LENGTHS, strategy="hbp", capacity_tokens=(5, 10)).capacities_tokens == (5, 10)
    assert packsim.pack(LENGTHS, strategy="hbp", capacity_tokens=np.array([5, 10])).capacities_tokens == (
        5,
        10,
    )


def test_options_of_other_strategies_are_refused_with_those_that_are_read() -> None:
    assert mistakes(rounds=5) == "rounds: expected an option that bfd reads, which are: max_samples_per_pack"
    wanted = "round: expected an option that isf reads (did you mean rounds?), which are: rounds, "
    assert mistakes("isf", round=5).startswith(wanted)


@pytest.mark.parametrize(
    ("strategy", "options", "message"),
    [
        ("isf", {"rounds": 0}, "rounds: expected integer in 1..1000000, got 0 (int)"),
        ("isf", {"rounds": 2.0}, "got 2.0 (float)"),
        ("isf", {"rounds": True}, "got True (bool)"),
        ("isf", {"rounds": 10**30}, "rounds: expected integer in 1..1000000, got 1000000"),
        ("isf", {"shuffle": 1}, "shuffle: expected True or False, got 1 (int)"),
        ("isf", {"threshold_tokens": -2}, "threshold_tokens: expected integer in -1..16777216, got -2 (int)"),
        ("none", {"batch_samples": 0}, "batch_samples: expected integer in 1..1000000000, got 0 (int)"),
        ("wlb", {"outlier_queues": -1}, "outlier_queues: expected integer in 0..1000, got -1 (int)"),
        ("hbp", {"packer": "sorted"}, "packer: expected one of random, isf, ffd"),
        ("hbp", {"packer": 5}, "got 5 (int)"),
        ("trl_lpt", {"batch_tokens": 5, "samples_per_iteration": 5}, "beside batch_tokens"),
    ],
)
def test_values_of_options_are_checked(strategy: str, options: dict[str, Any], message: str) -> None:
    row = next(row for row in packsim.strategies() if row.name == strategy)
    setting = {"tokens_per_iteration": 20} if row.forms_iterations else {}
    assert message in mistakes(strategy, **setting, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"over_long": "cut"},
            "over_long: expected one of error, drop, truncate, split, own_pack, got 'cut' (str)",
        ),
        ({"over_long": None}, "over_long: expected one of"),
        ({"empty": "x"}, "empty: expected one of drop, keep, error, got 'x' (str)"),
        ({"window_samples": -1}, "window_samples: expected integer in 0..4294967296, got -1 (int)"),
        ({"window_samples": "x"}, "window_samples: "),
        ({"seed": -1}, "seed: expected integer in 0..4294967295, got -1 (int)"),
        ({"seed": 2**32}, "seed: "),
        ({"seed": None}, "seed: "),
        ({"n_gpus": 0}, "n_gpus: expected integer in 1..1048576, got 0 (int)"),
        (
            {"n_gpus": 8},
            "n_gpus, tokens_per_iteration, sp_degree: expected none for bfd, which forms no iterations",
        ),
        ({"tokens_per_iteration": -1}, "tokens_per_iteration: "),
        ({"sp_degree": [1, 2]}, "sp_degree: expected one, or one for each of 1 capacities, got 2"),
        ({"sp_degree": 0}, "sp_degree: expected integer in 1..1048576, got 0 (int)"),
    ],
)
def test_other_arguments_are_checked(arguments: dict[str, Any], message: str) -> None:
    assert message in mistakes(**arguments)


def test_iterations_need_gpus_and_tokens() -> None:
    assert "tokens_per_iteration: expected >= 1 for trl_lpt, got 0" in mistakes("trl_lpt", n_gpus=2)
    wanted = "GPUs of a pack (sp_degree): expected a divisor of 3 GPUs, got 2"
    assert wanted in mistakes("trl_lpt", n_gpus=3, sp_degree=2, tokens_per_iteration=20)


def test_all_mistakes_come_at_once() -> None:
    lines = mistakes("isf", 0, rounds=0, spam=1, seed=-1, over_long="x", window_samples=-1).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "capacity_tokens",
        "window_samples",
        "over_long",
        "rounds",
        "spam",
        "seed",
    ]


def test_numpy_integers_are_integers() -> None:
    packing = packsim.pack(
        LENGTHS, strategy="isf", capacity_tokens=np.int64(10), rounds=np.int32(2), seed=np.uint32(1)
    )
    assert packing.capacities_tokens == (10,)
    assert type(packing.capacities_tokens[0]) is int
