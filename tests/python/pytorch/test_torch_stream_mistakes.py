"""Streams that are used wrongly: refused, and nothing lost or trained twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import stream_training  # noqa: E402
from process_pool import ProcessPool  # noqa: E402

from packsim.stream_sources import MixedSource  # noqa: E402
from packsim.torch import StreamCollator, StreamDataset, StreamLoader, merge_stream_states  # noqa: E402


def sample_of(n_tokens: int) -> dict[str, list[int]]:
    return {"input_ids": list(range(1, n_tokens + 1))}


def n_ids(sample: Any) -> int:
    return len(sample["input_ids"])


def dataset_of(
    lengths_tokens: list[int], length_of: Callable[[Any], Any] = n_ids, open_shard: Any = None, **more: Any
) -> StreamDataset:
    """One shard, in packs of ten tokens."""
    data = [sample_of(n) for n in lengths_tokens]
    arguments: dict[str, Any] = {"collator": StreamCollator(), "over_long": "truncate", **more}
    return StreamDataset(
        open_shard or (lambda shard, n_shards, start: iter(data[start:])),
        n_shards=1,
        rank=0,
        world_size=1,
        length_of=length_of,
        strategy="bfd",
        capacity_tokens=10,
        window_samples=4,
        **arguments,
    )


@pytest.mark.parametrize("said", [2, 4, 11])
@pytest.mark.parametrize("over_long", ["truncate", "drop"])
def test_a_sample_of_another_length_than_length_of_says_is_refused(said: int, over_long: str) -> None:
    """Also where its pack has room for it, and where it is over-long and would be cut."""
    for n_tokens in (3, 30):
        dataset = dataset_of([n_tokens], lambda sample: said, over_long=over_long)
        if over_long == "drop" and said > 10:
            assert list(StreamLoader(dataset)) == []  # left out before it is looked at
            continue
        expected = rf"shard 0: sample 0: expected {said} tokens, as length_of\(\) said, got {n_tokens}"
        with pytest.raises(ValueError, match=expected):
            list(StreamLoader(dataset))


def test_lengths_that_are_cut_are_those_of_the_whole_sample() -> None:
    batches = list(StreamLoader(dataset_of([30, 10, 4])))
    found = {i: m.truncated_tokens for m in (b.micro_batch for b in batches) for i in m.samples.tolist()}
    assert found == {0: 20, 1: 0, 2: 0}


def test_at_most_ten_wrong_lengths_are_named() -> None:
    dataset = StreamDataset(
        lambda shard, n_shards, start: iter([sample_of(2)] * 12),
        n_shards=1,
        rank=0,
        world_size=1,
        length_of=lambda sample: 1,
        collator=StreamCollator(),
        strategy="bfd",
        capacity_tokens=12,
        window_samples=12,
    )
    with pytest.raises(ValueError) as caught:
        list(StreamLoader(dataset))
    assert str(caught.value).splitlines()[9:] == [
        "shard 0: sample 9: expected 1 tokens, as length_of() said, got 2",
        "and 2 more",
    ]


def test_lengths_of_a_mix_may_be_integers_of_numpy() -> None:
    mix = MixedSource({"a": lambda shard, n_shards, start: iter([sample_of(3)] * 4)}, weights={"a": 1})
    dataset = dataset_of([], lambda sample: np.int64(n_ids(sample)), open_shard=mix)
    assert sum(len(batch.micro_batch) for batch in StreamLoader(dataset)) == 4


def test_an_iterator_that_is_not_the_newest_gives_nothing_twice() -> None:
    loader = StreamLoader(dataset_of([8] * 9), micro_batches_per_step=2)
    older = iter(loader)
    first = [next(older).micro_batch.samples.tolist() for _ in range(3)]
    newer = iter(loader)
    rest = [next(newer).micro_batch.samples.tolist()]
    with pytest.raises(RuntimeError, match="loader: expected its newest iterator, .*, got an older one"):
        next(older)
    rest += [batch.micro_batch.samples.tolist() for batch in newer]
    assert sorted(i for samples in first + rest for i in samples) == list(range(9))


def test_two_loaders_over_one_dataset_give_nothing_twice() -> None:
    dataset = dataset_of([8] * 9)
    older = iter(StreamLoader(dataset))
    found = [next(older).micro_batch.samples.tolist() for _ in range(3)]
    newer = iter(StreamLoader(dataset))
    found.append(next(newer).micro_batch.samples.tolist())
    with pytest.raises(RuntimeError, match="loader: expected its newest iterator, .*, got an older one"):
        next(older)
    found += [batch.micro_batch.samples.tolist() for batch in newer]
    assert sorted(i for samples in found for i in samples) == list(range(9))


def test_a_state_that_the_dataset_loads_ends_iterators_too() -> None:
    loader = StreamLoader(dataset_of([8] * 9))
    begin = loader.state_dict()
    batches = iter(loader)
    next(batches)
    loader.dataset.load_state_dict(begin)
    with pytest.raises(RuntimeError, match="loader: expected its newest iterator, begun after load_state"):
        next(batches)


def test_what_are_no_states_of_ranks_is_not_merged() -> None:
    state = dataset_of([8]).state_dict()
    for states, expected in (
        ([], r"states: expected a list of those of all ranks, got \[\]"),
        (state, r"states: expected a list of those of all ranks, got \{.* \(dict\)"),
        ([None], r"states\[0\].version: expected 1, got None"),
        ([{**state, "rank": "0"}], r"states\[0\].rank: expected integer in 0.., got '0'"),
        # A merged state has no rank.
        ([merge_stream_states([state])], r"states\[0\].rank: expected integer in 0.., got None"),
        ([{**state, "turns": 3}], r"states\[0\]: expected lists turns and shards, got 3"),
    ):
        with pytest.raises(ValueError, match=expected.replace("0..", r"0\.\.\d+")):
            merge_stream_states(states)  # type: ignore[arg-type]
    next(iter(StreamLoader(dataset := dataset_of([8]))))
    state = dataset.state_dict()
    with pytest.raises(ValueError, match=r"state\.shards: expected each shard once, got \[0, 0\]"):
        dataset.load_state_dict({**state, "shards": state["shards"] * 2})


@pytest.mark.parametrize("n_done", [1, 2, 3])
def test_a_state_that_is_loaded_while_the_loop_runs_is_where_it_goes_on(n_done: int) -> None:
    loader = StreamLoader(dataset_of([8] * 9), micro_batches_per_step=2)
    begin = loader.state_dict()
    batches = iter(loader)
    first = [next(batches).micro_batch.samples.tolist() for _ in range(n_done)]
    loader.load_state_dict(begin)
    with pytest.raises(RuntimeError, match="loader: expected its newest iterator, begun after load_state"):
        next(batches)
    assert loader.dataset.step == 0
    again = [batch.micro_batch.samples.tolist() for batch in loader]
    assert again[:n_done] == first
    assert len(again) == 9


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("failing_rank", [0, 1])
def test_no_rank_waits_for_one_that_failed(
    failing_rank: int, num_workers: int, two_processes: ProcessPool
) -> None:
    """It would until the time-out of its process group: half an hour by default."""
    ranks = two_processes.run(stream_training.run_that_fails_on, failing_rank, num_workers)
    assert ranks[0][0] == ranks[1][0] > 0
    assert "sample 20: expected" in ranks[failing_rank][1]
    expected = f"loader: expected packs of all ranks, got none of [{failing_rank}], whose errors say why"
    assert ranks[1 - failing_rank][1] == expected


@pytest.mark.parametrize("failing_rank", [0, 1])
def test_no_rank_waits_for_one_that_failed_in_the_rest_of_a_step(
    failing_rank: int, two_processes: ProcessPool
) -> None:
    """Both go on inside an optimizer step, and one finds its data gone."""
    ranks = two_processes.run(stream_training.run_whose_rest_fails_on, failing_rank)
    assert "the disk is gone" in ranks[failing_rank]
    expected = f"loader: expected packs of all ranks, got none of [{failing_rank}], whose errors say why"
    assert ranks[1 - failing_rank] == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [("micro_batches_per_step", [2, 3]), ("agree_every_steps", [4, 8]), ("n_steps", [40, 41])],
)
def test_ranks_with_other_arguments_notice_it(
    name: str, values: list[int], two_processes: ProcessPool
) -> None:
    """They would exchange rows of other lengths, which ends a process of gloo and hangs one of NCCL."""
    messages = two_processes.run(stream_training.run_with_arguments, name, values)
    assert messages == [f"loader: expected equal {name} on all ranks, got {values}"] * 2


def test_ranks_with_streams_that_are_packed_otherwise_notice_it(two_processes: ProcessPool) -> None:
    messages = two_processes.run(stream_training.run_with_arguments, "capacity_tokens", [64, 65])
    expected = "loader: expected equal hash of the stream's arguments and weights on all ranks, got ["
    assert all(message.startswith(expected) for message in messages)
