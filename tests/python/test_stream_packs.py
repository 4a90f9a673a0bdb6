"""stream_packs(): packs of any iterable, with no more than a window of it in memory."""

from __future__ import annotations

import gc
import itertools
import json
import weakref
from collections.abc import Iterator

import numpy as np
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


def test_mistakes_are_named_by_their_place_in_the_stream() -> None:
    """Not in the window: sample 64 is the first of the second one."""
    for bad, expected in (
        (-1, r"stream: lengths_tokens: expected lengths in 0..2147483647, .*: sample 70 has -1"),
        (2.5, r"stream: lengths_tokens: expected integers, got 2.5 \(float\) at sample 70"),
        (2**70, r"stream: lengths_tokens: expected lengths .* more than 64 bits at sample 70"),
    ):
        lengths = [300] * 70 + [bad] + [300] * 100
        stream = PackedStream(
            lambda start, lengths=lengths: lengths[start:], packer_of(), length_of=lambda n: n
        )
        with pytest.raises(ValueError, match=expected):
            list(stream)


@pytest.mark.skipif(not hasattr(BaseException, "add_note"), reason="errors have no notes before Python 3.11")
def test_an_error_of_the_source_says_at_which_sample_it_came() -> None:
    def failing() -> Iterator[int]:
        yield from [300] * 70
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone") as caught:
        list(PackedStream(lambda start: failing(), packer_of(), length_of=lambda n: n, name="shard 3"))
    assert caught.value.__notes__ == ["shard 3: while sample 70 was read"]


def test_other_packs_of_the_same_window_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another version of packsim may make them: those that were trained would be others."""
    stream = PackedStream(lambda start: LENGTHS[start:], packer_of(), length_of=lambda n: n)
    for _ in range(5):
        next(stream)
    state = json.loads(json.dumps(stream.state_dict()))

    def resumed() -> list[object]:
        return list(
            PackedStream(lambda start: LENGTHS[start:], packer_of(), length_of=lambda n: n, state=state)
        )

    assert len(resumed()) > 5
    real = packsim.StreamPacker.push

    def in_other_order(self: packsim.StreamPacker, lengths: list[int]) -> object:
        packs = real(self, lengths)
        sizes = np.diff(packs.offsets)[::-1]
        samples = [sample for pack in list(packs)[::-1] for sample in pack]
        return type(packs)(np.cumsum([0, *sizes]).astype(np.uint64), np.array(samples, dtype=np.uint64))

    monkeypatch.setattr(packsim.StreamPacker, "push", in_other_order)
    expected = (
        "stream: expected the packs that it had from sample 0 to its next .*, got others: go on with the"
    )
    with pytest.raises(ValueError, match=expected):
        resumed()
    del state["window"]["packs_hash"]  # of a state that was written before there was one
    assert len(resumed()) > 5
