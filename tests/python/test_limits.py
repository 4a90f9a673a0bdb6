"""pack() with a limit of samples, a second limit, and groups that stay together."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from cases import CAPACITY_TOKENS, heavy_tailed

import packsim

LENGTHS = heavy_tailed(2000, seed=3, longest_tokens=CAPACITY_TOKENS)


def packed(**arguments: Any) -> packsim.Packing:
    return packsim.pack(LENGTHS, capacity_tokens=CAPACITY_TOKENS, **arguments)


@pytest.mark.parametrize("strategy", ["ffd", "ffs", "bfd", "bfs", "isf"])
def test_packs_hold_at_most_so_many_samples(strategy: str) -> None:
    packing = packed(strategy=strategy, max_samples_per_pack=3)
    assert max(len(pack) for pack in packing.groups[0]) == 3
    assert packed(strategy=strategy, max_samples_per_pack=None).n_packs < packing.n_packs


@pytest.mark.parametrize("strategy", ["isf", "ffd", "bfd", "bfs"])
def test_packs_hold_both_limits(strategy: str) -> None:
    images = np.random.default_rng(4).integers(0, 4, len(LENGTHS))
    packing = packed(strategy=strategy, extra_sizes=images, extra_capacity=6)
    seen = np.concatenate([np.asarray(pack) for pack in packing.groups[0]])
    assert np.array_equal(np.sort(seen), np.arange(len(LENGTHS)))
    for samples in packing.groups[0]:
        assert images[samples].sum() <= 6
        assert LENGTHS[samples].sum() <= CAPACITY_TOKENS


def test_pairs_stay_together_in_a_plan() -> None:
    pair_of = np.arange(len(LENGTHS)) // 2
    packing = packed(strategy="bfd", group_of=pair_of, over_long="drop")
    assert packing.counts.dropped_samples > 0
    plan = packsim.make_plan(packing, n_gpus=2, tokens_per_iteration=8 * CAPACITY_TOKENS)
    n_trained = 0
    for micro_batches in plan:
        for batch in micro_batches:
            samples = np.asarray(batch.samples)
            assert np.array_equal(samples[0::2] + 1, samples[1::2])
            assert np.all(samples[0::2] % 2 == 0)
            n_trained += len(samples)
    assert n_trained > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"extra_sizes": [1, 1, 1]}, "extra_sizes, extra_capacity: expected both or neither, got one"),
        ({"extra_capacity": 0}, "extra_capacity: expected integer in 1..2147483647, got 0 (int)"),
        (
            {"extra_sizes": [1, 1], "extra_capacity": 2},
            "extra_sizes: expected one for each of 3 samples, got 2",
        ),
        ({"extra_sizes": [1, 9, 1], "extra_capacity": 2}, "got 1 that are not: sample 1 has 9"),
        ({"extra_sizes": [1.5, 1, 1], "extra_capacity": 2}, "extra_sizes: "),
        ({"group_of": [1, 1]}, "group_of: expected one for each of 3 samples, got 2"),
        ({"group_of": [0.5, 1, 1]}, "group_of: expected an array of integers of one dimension"),
        (
            {"group_of": [7, 7, 7]},
            "group_of: expected groups of at most 10 tokens (or over_long drop), got 1",
        ),
        ({"group_of": [1, 1, 2], "over_long": "split"}, "over_long: expected error or drop beside group_of"),
    ],
)
def test_what_cannot_be_held_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        packsim.pack([5, 4, 3], strategy="bfd", capacity_tokens=10, **arguments)


def test_streams_say_that_they_have_no_second_limit() -> None:
    message = "extra_sizes: expected none for a stream, whose samples have lengths only; pack() takes it"
    with pytest.raises(ValueError, match=re.escape(message)):
        packsim.StreamPacker(strategy="bfd", capacity_tokens=10, window_samples=4, extra_sizes=[1])  # type: ignore[call-arg]
