"""stream_packs(): packs of any iterable, with no more than a window of it in memory."""

from __future__ import annotations

import gc
import itertools
import json
import weakref
from collections.abc import Iterator

import pytest
from cases import heavy_tailed
from hypothesis import given, settings
from hypothesis import strategies as st

import packsim
from packsim.streaming import PackedStream

LENGTHS = heavy_tailed(1000, seed=2, longest_tokens=1500).tolist()


class Sample:
    def __init__(self, index: int) -> None:
        self.index = index
        self.n_tokens = LENGTHS[index % len(LENGTHS)]


def tokens_of(sample: Sample) -> int:
    return sample.n_tokens


def packer_of(window_samples: int = 64) -> packsim.StreamPacker:
    return packsim.StreamPacker(
        strategy="bfd", capacity_tokens=1024, window_samples=window_samples, over_long="drop"
    )


def test_packs_have_the_samples_with_their_positions() -> None:
    samples = [Sample(i) for i in range(1000)]
    packs = list(
        packsim.stream_packs(
            iter(samples), length_of=tokens_of, strategy="bfd", capacity_tokens=1024, window_samples=64,
            over_long="drop",
        )
    )  # fmt: skip
    packer = packer_of()
    expected = [*packer.push(LENGTHS), *packer.finish()]
    assert [[i for i, _ in pack] for pack in packs] == [indices.tolist() for indices in expected]
    assert all(sample is samples[i] for pack in packs for i, sample in pack)


def test_an_endless_stream_is_read_a_window_ahead_and_forgotten_when_it_is_packed() -> None:
    alive: weakref.WeakSet[Sample] = weakref.WeakSet()
    n_read = 0

    def endless() -> Iterator[Sample]:
        nonlocal n_read
        for i in itertools.count():
            n_read += 1
            sample = Sample(i)
            alive.add(sample)
            yield sample
            del sample

    packs = PackedStream(lambda start: endless(), packer_of(64), length_of=tokens_of)
    assert n_read == 0
    n_handed_out = most_alive = 0
    for pack in itertools.islice(packs, 2000):
        n_handed_out += len(pack)
        assert packs.n_held <= 64
        del pack
        gc.collect(0)
        most_alive = max(most_alive, len(alive))
    n_too_long = sum(LENGTHS[i % len(LENGTHS)] > 1024 for i in range(n_read))
    assert n_read - n_too_long - n_handed_out <= 64
    assert most_alive <= 64 + 2  # the generator's own, and the one left out last


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 90), st.lists(st.integers(0, 40), max_size=20))
def test_resuming_at_any_pack_is_going_on(window_samples: int, steps: list[int]) -> None:
    opened_at: list[int] = []

    def open_at(start_sample: int) -> Iterator[Sample]:
        opened_at.append(start_sample)
        return (Sample(i) for i in range(start_sample, 1000))

    def stream(state: object = None) -> PackedStream[Sample]:
        loaded = None if state is None else json.loads(json.dumps(state))
        return PackedStream(open_at, packer_of(window_samples), length_of=tokens_of, state=loaded)

    def positions(packs: Iterator[list[tuple[int, Sample]]]) -> list[list[int]]:
        return [[i for i, _ in pack] for pack in packs]

    whole = positions(iter(stream()))
    parts: list[list[int]] = []
    state = None
    for n_packs in steps:
        part = stream(state)
        parts += positions(itertools.islice(part, n_packs))
        state = part.state_dict()
        if parts:
            # What a resumed stream reads again begins at the oldest sample that was held, not at the start.
            assert opened_at[-1] >= min(
                min(samples) for samples in whole[max(0, len(parts) - n_packs - 99) :]
            )
    parts += positions(iter(stream(state)))
    assert parts == whole


def test_a_stream_that_is_shorter_than_before_is_noticed() -> None:
    packs = PackedStream(lambda start: map(Sample, range(start, 1000)), packer_of(), length_of=tokens_of)
    for _ in range(60):
        next(packs)
    state = packs.state_dict()
    other = PackedStream(
        lambda start: map(Sample, range(start, 70)), packer_of(), length_of=tokens_of, state=state
    )
    with pytest.raises(
        ValueError, match="stream: expected at least 156 samples, as before, got none from sample 94 on"
    ):
        next(other)


def test_mistakes_come_before_the_first_sample_is_read() -> None:
    with pytest.raises(ValueError, match="window_samples: expected integer"):
        packsim.stream_packs(iter([]), strategy="bfd", capacity_tokens=10, window_samples=0)
    with pytest.raises(ValueError, match="sample 1 has 11"):
        list(packsim.stream_packs(["a", "b" * 11], strategy="bfd", capacity_tokens=10, window_samples=5))


def test_a_stream_of_nothing_has_no_packs() -> None:
    assert list(packsim.stream_packs([], strategy="bfd", capacity_tokens=10, window_samples=5)) == []
    left_out = packsim.stream_packs(["", ""], strategy="bfd", capacity_tokens=10, window_samples=5)
    assert list(left_out) == []


@pytest.mark.parametrize("is_of_source", [False, True])
def test_a_stream_that_failed_does_not_go_on_without_the_samples_of_its_window(is_of_source: bool) -> None:
    def samples() -> Iterator[str]:
        yield "aaa"
        if is_of_source:
            raise ValueError("expected lengths: the source fails")
        yield "b" * 30
        yield "cc"

    packs = packsim.stream_packs(samples(), strategy="bfd", capacity_tokens=10, window_samples=2)
    for _ in range(3):
        with pytest.raises(ValueError, match="expected lengths"):
            next(packs)
