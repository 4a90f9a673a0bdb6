"""Mixes of sources: exact shares, changes, ends, states."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packsim
from packsim._mix_order import MixOrder
from packsim._mixed_source import with_weights_from
from packsim.stream_sources import FileShards, MixedSource


class Numbers:
    """Shard s of n has s, s + n, ... below `size`, as (name, number)."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size

    def __call__(self, shard_index: int, n_shards: int, start_sample: int) -> Iterator[tuple[str, int]]:
        first = shard_index + start_sample * n_shards
        return iter([(self.name, i) for i in range(first, self.size, n_shards)])


def mix_of(
    sizes: dict[str, int], weights: dict[str, float] | None = None, at_end: Any = "stop", seed: int = 0
) -> MixedSource:
    sources = {name: Numbers(name, size) for name, size in sizes.items()}
    return MixedSource(sources, weights=weights or dict.fromkeys(sizes, 1.0), at_end=at_end, seed=seed)


def names_of(samples: Any) -> list[str]:
    return [sample.source for sample in samples]


@settings(max_examples=150, deadline=None)
@given(
    weights=st.lists(st.one_of(st.just(0.0), st.floats(1e-4, 1.0)), min_size=1, max_size=9).filter(any),
    seed=st.integers(0, 100),
)
def test_shares_hold_to_within_one_sample_at_any_time(weights: list[float], seed: int) -> None:
    names = [f"s{i}" for i in range(len(weights))]
    shares = np.array(weights) / sum(weights)
    ties = {name: i for i, name in enumerate(np.random.default_rng(seed).permutation(names).tolist())}
    order = MixOrder(dict(zip(names, weights, strict=True)), ties)
    taken = np.zeros(len(names))
    for n in range(1, 400):
        name = order.next()
        order.take(name)
        taken[names.index(name)] += 1
        assert (np.abs(taken - n * shares) < 1).all()


def test_the_order_is_on_paper() -> None:
    # Half of all from a; b and c take turns.
    mix = mix_of({"a": 8, "b": 4, "c": 4}, {"a": 2, "b": 1, "c": 1}, seed=1)
    names = "".join(names_of(mix(0, 1, 0)))
    assert all(Counter(names[i : i + 4]) == {"a": 2, "b": 1, "c": 1} for i in range(0, 16, 4))
    assert len(names) == 16


def test_shards_and_seeds_differ_where_sources_are_due_together() -> None:
    sizes = dict.fromkeys("abcdef", 100)
    begins = {tuple(names_of(islice(mix_of(sizes)(shard, 4, 0), 6))) for shard in range(4)}
    assert len(begins) > 1
    assert names_of(mix_of(sizes, seed=3)(0, 1, 0)) == names_of(mix_of(sizes, seed=3)(0, 1, 0))
    assert names_of(mix_of(sizes, seed=3)(0, 1, 0)) != names_of(mix_of(sizes, seed=4)(0, 1, 0))


def test_each_end_has_its_name() -> None:
    sizes = {"long": 20, "short": 4}
    weights = {"long": 1.0, "short": 1.0}
    stopped = list(mix_of(sizes, weights, "stop")(0, 1, 0))
    # The short one ends when it is asked for a fifth sample.
    assert Counter(names_of(stopped))["short"] == 4 and len(stopped) in (8, 9)
    dropped = list(mix_of(sizes, weights, "drop")(0, 1, 0))
    assert Counter(names_of(dropped)) == {"long": 20, "short": 4}
    repeated = list(mix_of(sizes, weights, {"long": "stop", "short": "repeat"})(0, 1, 0))
    assert Counter(names_of(repeated))["long"] == 20
    short = [sample for sample in repeated if sample.source == "short"]
    assert [sample.sample[1] for sample in short] == [i % 4 for i in range(len(short))]
    assert [sample.pass_index for sample in short] == [i // 4 for i in range(len(short))]
    with pytest.raises(
        ValueError, match="source 'empty', shard 0 of 1: expected at least one sample to repeat"
    ):
        list(mix_of({"a": 3, "empty": 0}, at_end="repeat")(0, 1, 0))
    assert list(mix_of({"a": 3, "b": 3}, {"a": 1, "b": 0}, "drop")(0, 1, 0))[-1].sample == ("a", 2)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_state_is_taken_up_anywhere_and_changes_come_at_their_place(data: st.DataObject) -> None:
    names = ["a", "b", "c", "d"][: data.draw(st.integers(1, 4))]
    sizes = {name: data.draw(st.integers(1, 60)) for name in names}
    ends = {name: data.draw(st.sampled_from(["stop", "repeat", "drop"])) for name in names}
    weight = st.floats(0.01, 1)
    mix = mix_of(sizes, {name: data.draw(weight) for name in names}, ends, seed=data.draw(st.integers(0, 9)))
    n_shards = data.draw(st.integers(1, 3))
    at = data.draw(st.integers(0, 50))
    weights = {name: data.draw(weight) for name in names}
    state = with_weights_from(mix.shard_from(0, n_shards, None).state_dict(), at, weights)

    def read(state: Any, n_samples: int) -> tuple[list[Any], Any]:
        shard = mix.shard_from(0, n_shards, json.loads(json.dumps(state)))
        try:
            return list(islice(shard, n_samples)), shard.state_dict()
        except ValueError as error:  # nothing to repeat
            assert "expected at least one sample to repeat" in str(error)
            return [], None

    whole, _ = read(state, 150)
    cut = data.draw(st.integers(0, 150))
    before, middle = read(state, cut)
    if middle is not None and (whole or not before):
        after, _ = read(middle, 150 - cut)
        assert before + after == whole
    unchanged = list(islice(mix(0, n_shards, 0), at)) if whole else []
    assert whole[: len(unchanged)] == unchanged
    # Between the change and the first end the new shares hold.
    rest = Counter(names_of(whole[at : at + 5]))
    if whole[at:] and all(sizes[name] // n_shards > at + 5 for name in names):
        for name in names:
            assert abs(rest[name] - 5 * weights[name] / sum(weights.values())) < 1


def test_mistakes_are_refused_all_at_once() -> None:
    with pytest.raises(ValueError) as error:
        MixedSource(
            {"a": Numbers("a", 3), "b": 7},  # type: ignore[dict-item]
            weights={"a": -1, "c": 1},
            at_end={"a": "loop", "b": "stop"},
            seed=-1,
        )
    assert str(error.value).splitlines() == [
        "sources['b']: expected a name and an open_shard, got 7 (int)",
        "weights: expected one for each of ['a', 'b'], got ['a', 'c']",
        "weights['a']: expected a number that is not negative, got -1 (int)",
        "at_end['a']: expected one of stop, repeat, drop, got 'loop' (str)",
        "seed: expected integer in 0..18446744073709551615, got -1 (int)",
    ]
    with pytest.raises(ValueError, match=r"sources\['m'\]: expected no mix, got one: give its sources"):
        MixedSource({"m": mix_of({"a": 3})}, weights={"m": 1})
    with pytest.raises(ValueError, match="sources: expected a mapping of at least one source"):
        MixedSource({}, weights={})
    mix = mix_of({"a": 3, "b": 3})
    with pytest.raises(ValueError, match="weights: expected one that is more than 0, got none"):
        mix.set_weights({"a": 0, "b": 0})
    with pytest.raises(ValueError, match="weights: expected one for each of"):
        mix.set_weights({"a": 1})
    assert mix.state_dict()["requested"] is None
    with pytest.raises(ValueError, match="state.source.setting: expected one of .*, got"):
        mix.load_state_dict(mix_of({"a": 3, "b": 3}, seed=1).state_dict())
    with pytest.raises(ValueError, match="state.source: expected the state of a MixedSource, got None"):
        mix.load_state_dict(None)


def test_a_mix_is_packed_like_any_iterable() -> None:
    mix = MixedSource(
        {
            "x": FileShards(["xx", "xxx"], lambda file: [file]),
            "y": FileShards(["y", "yyyy"], lambda file: [file]),
        },
        weights={"x": 1, "y": 1},
    )
    packs = packsim.stream_packs(
        mix(0, 1, 0), length_of=lambda s: len(s.sample), strategy="bfd", capacity_tokens=5, window_samples=4
    )
    found = sorted((sample.source, sample.sample) for pack in packs for _, sample in pack)
    assert found == [("x", "xx"), ("x", "xxx"), ("y", "y"), ("y", "yyyy")]
