"""Steps of a mixture without PyTorch: who trains which pack, by what weight, and where every draw is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import packsim
from packsim._arguments import Problems
from packsim._mixture_place import MixturePlace
from packsim._mixture_steps import MixtureSteps, drawn_samples
from packsim._normalisers import find_normaliser


def steps_of(
    lengths: Any, packs_per_step: int, capacity_tokens: int, window_samples: int, **more: Any
) -> tuple[MixtureSteps, packsim.Mixture]:
    subset_of = more.pop("subset_of", np.zeros(len(lengths), dtype=np.int64))
    mixture = packsim.Mixture(subset_of, **({"policy": "static", "with_replacement": False} | more))
    packer = packsim.StreamPacker(
        strategy="bfd", capacity_tokens=capacity_tokens, window_samples=window_samples, over_long="drop"
    )
    problems = Problems()
    data = drawn_samples(np.array(lengths, dtype=np.int32), None, mixture, packer, problems)
    problems.raise_if_any()
    return MixtureSteps(mixture, packer, data, packs_per_step, find_normaliser("stable")), mixture


def test_in_each_round_the_rank_that_has_least_gets_the_most() -> None:
    # Windows of one sample: each is a pack, of 8 to 1 thousand tokens. Rounds are (8, 7), (6, 5), (4, 3) and
    # (2, 1). Behind two of them both ranks have 13 thousand, but 8 and 5 are more attention than 7 and 6.
    steps, _ = steps_of([1000 * n for n in range(1, 9)], 8, capacity_tokens=8000, window_samples=1)
    step = steps.next_step()
    ranks = [[int(pack.tokens.sum()) // 1000 for pack in step.of_rank(rank, 2)] for rank in range(2)]
    assert ranks == [[8, 5, 3, 2], [7, 6, 4, 1]]
    assert [pack.is_last for pack in step.of_rank(0, 2)] == [False, False, False, True]
    # Every token with loss has the same weight: all but the first of each sample.
    assert {pack.weight for pack in step.of_rank(0, 1)} == {1 / (36_000 - 8)}


def test_every_draw_is_trained_once_or_held_or_dropped() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 300)
    steps, mixture = steps_of(lengths, 4, capacity_tokens=50, window_samples=20, subset_of=np.arange(300) % 3)
    trained: list[int] = []
    for _ in range(12):
        trained += steps.next_step().draws.tolist()
        place = steps.place
        assert len(set(trained)) == len(trained) == sum(place.trained_of_arm)
        waiting = place.waiting.draws.tolist()
        assert not set(trained) & set(waiting) and len(waiting) == sum(place.held_of_arm)
        assert mixture.n_draws == len(trained) + len(waiting) + sum(place.dropped_of_arm)
    assert sum(place.dropped_of_arm) > 0


def test_a_place_goes_on_exactly_through_json_and_never_changes() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 300)
    steps, _ = steps_of(lengths, 4, capacity_tokens=50, window_samples=20)
    steps.next_step()
    place = steps.place
    text = json.dumps(place.to_dict())
    expected = [steps.next_step().samples.tolist() for _ in range(5)]
    assert json.dumps(place.to_dict()) == text
    resumed, _ = steps_of(lengths, 4, capacity_tokens=50, window_samples=20)
    resumed.go_to(MixturePlace.from_dict(json.loads(text), np.zeros(300, dtype=np.int64)))
    assert [resumed.next_step().samples.tolist() for _ in range(5)] == expected
    steps.go_to(place)
    assert [steps.next_step().samples.tolist() for _ in range(5)] == expected


def test_draws_of_a_place_that_do_not_add_up_are_refused() -> None:
    steps, _ = steps_of([3, 4, 5] * 20, 4, capacity_tokens=10, window_samples=8)
    steps.next_step()
    state = steps.place.to_dict()
    state["counts"]["trained_of_arm"] = [3]
    with pytest.raises(ValueError, match="state.counts: expected .* draws of the arms, as the mixture has"):
        MixturePlace.from_dict(state, np.zeros(60, dtype=np.int64))
