"""Streams in a PyTorch training loop: one order, every sample once, equal steps, exact resume."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cases import heavy_tailed

torch = pytest.importorskip("torch")

from packsim.torch import StreamDataset, StreamLoader, StreamPack, merge_stream_states  # noqa: E402

N_SHARDS = 8
CAPACITY_TOKENS = 1024
Batch = tuple[int, tuple[int, ...]]  # a shard and places in it


class Shards:
    """Shards of lengths; sample i of shard s is (s, i, tokens). Some end much earlier than others."""

    def __init__(self, n_shards: int = N_SHARDS) -> None:
        sizes = [300, 120, 0, 350, 90, 333, 7, 200] * (n_shards // 8)
        self.lengths = [
            heavy_tailed(n, seed=shard, longest_tokens=1500) // (1 + shard % 3)
            for shard, n in enumerate(sizes)
        ]

    def __call__(self, shard_index: int, n_shards: int, start_sample: int) -> Iterator[tuple[int, int, int]]:
        lengths = self.lengths[shard_index].tolist()
        for i in range(start_sample, len(lengths)):
            yield shard_index, i, lengths[i]


def tokens_of(sample: tuple[int, int, int]) -> int:
    return sample[2]


def as_batch(pack: StreamPack) -> Batch:
    assert [sample[1] for sample in pack.samples] == pack.sample_indices
    assert all(sample[0] == pack.shard_index for sample in pack.samples)
    return pack.shard_index, tuple(pack.sample_indices)


SHARDS = Shards()


def dataset_of(rank: int = 0, world_size: int = 1, **more: Any) -> StreamDataset:
    arguments: dict[str, Any] = {"strategy": "bfd", "capacity_tokens": CAPACITY_TOKENS, "window_samples": 40}
    arguments |= {"over_long": "truncate", "open_shard": SHARDS, "n_shards": N_SHARDS}
    arguments |= {"length_of": tokens_of, "collator": as_batch}
    return StreamDataset(rank=rank, world_size=world_size, **(arguments | more))


def one_rank(num_workers: int = 0, state: Any = None) -> StreamLoader:
    loader = StreamLoader(dataset_of(), num_workers=num_workers)
    if state is not None:
        loader.load_state_dict(json.loads(json.dumps(state)))
    return loader


def check_once(batches: list[Batch]) -> None:
    """Every sample that is not empty is in one batch."""
    packed = sorted((shard, i) for shard, samples in batches for i in samples)
    assert packed == [
        (shard, int(i)) for shard, lengths in enumerate(SHARDS.lengths) for i in np.flatnonzero(lengths > 0)
    ]


UNINTERRUPTED = list(one_rank())


def test_shards_take_turns_and_every_sample_is_in_one_batch() -> None:
    check_once(UNINTERRUPTED)
    # Shard 2 has no samples. Shard 6 has one pack or some, and is passed over when it has ended.
    first = [shard for shard, _ in UNINTERRUPTED[:7]]
    assert first == [0, 1, 3, 4, 5, 6, 7]
    n_packs = [sum(shard == s for shard, _ in UNINTERRUPTED) for s in range(N_SHARDS)]
    turns = sorted((turn, shard) for shard in range(N_SHARDS) for turn in range(n_packs[shard]))
    assert [shard for shard, _ in UNINTERRUPTED] == [shard for _, shard in turns]


@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_the_order_does_not_depend_on_workers(num_workers: int) -> None:
    assert list(one_rank(num_workers)) == UNINTERRUPTED


def test_the_next_epoch_is_the_same_again() -> None:
    loader = one_rank(2)
    assert list(loader) == UNINTERRUPTED
    assert (loader.dataset.epoch, loader.dataset.step) == (1, 0)
    assert list(loader) == UNINTERRUPTED


def test_a_loop_that_was_left_goes_on_where_it_was() -> None:
    loader = one_rank()
    batches = []
    for batch in loader:
        batches.append(batch)
        if len(batches) == 11:
            break
    assert batches + list(loader) == UNINTERRUPTED


@pytest.mark.parametrize("seed", range(6))
def test_a_run_killed_at_random_steps_and_resumed_is_the_uninterrupted_run(seed: int) -> None:
    draw = random.Random(seed)
    batches: list[Batch] = []
    state = None
    while True:
        loader = one_rank(draw.choice([0, 1, 2, 4]) if seed < 3 else 0, state)
        n_steps = draw.randint(0, len(UNINTERRUPTED) if seed < 3 else 60)
        iterator = iter(loader)
        for _ in range(n_steps):
            batch = next(iterator, None)
            if batch is None:
                assert batches == UNINTERRUPTED
                return
            batches.append(batch)
            state = loader.state_dict()
        del iterator


class Agreement:
    """All-gather among threads."""

    def __init__(self, n_ranks: int) -> None:
        self._values: list[Any] = [None] * n_ranks
        self._barrier = threading.Barrier(n_ranks, timeout=60)

    def gather_for(self, rank: int) -> Callable[[Any], list[Any]]:
        def gather_from_all_ranks(value: Any) -> list[Any]:
            self._values[rank] = value
            self._barrier.wait()
            values = list(self._values)
            self._barrier.wait()
            return values

        return gather_from_all_ranks


def run_ranks(world_size: int, n_steps: int | None = None, state: Any = None, **more: Any) -> Any:
    """Batches and the last state of every rank."""
    agreement = Agreement(world_size)
    batches: list[list[Batch]] = [[] for _ in range(world_size)]
    states: list[Any] = [None] * world_size
    failures: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            gather = agreement.gather_for(rank)
            loader = StreamLoader(dataset_of(rank, world_size), gather_from_all_ranks=gather, **more)
            if state is not None:
                loader.load_state_dict(state[rank] if isinstance(state, list) else state)
            states[rank] = loader.state_dict()
            for batch in loader:
                batches[rank].append(batch)
                states[rank] = loader.state_dict()
                if len(batches[rank]) == n_steps:
                    break
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(world_size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return batches, json.loads(json.dumps(states))


def trained(batches: list[list[Batch]]) -> list[Batch]:
    return [batch for rank in batches for batch in rank if batch[0] >= 0]


@pytest.mark.parametrize("world_size", [2, 4, 8])
@pytest.mark.parametrize("agree_every_steps", [1, 8, 1000])
def test_all_ranks_make_the_same_steps_and_lose_nothing(world_size: int, agree_every_steps: int) -> None:
    batches, _ = run_ranks(world_size, agree_every_steps=agree_every_steps)
    n_trained = [sum(shard >= 0 for shard, _ in rank) for rank in batches]
    assert {len(rank) for rank in batches} == {max(n_trained)}
    assert min(n_trained) < max(n_trained)
    check_once(trained(batches))
    for rank, of_rank in enumerate(batches):
        assert {shard % world_size for shard, _ in of_rank if shard >= 0} <= {rank}
        # Empty micro-batches come last.
        assert [shard < 0 for shard, _ in of_rank] == sorted(shard < 0 for shard, _ in of_rank)


def test_several_workers_on_each_of_two_ranks_give_the_same() -> None:
    batches, _ = run_ranks(2)
    for rank in range(2):
        lengths = SHARDS.lengths
        dataset = dataset_of(rank, 2)
        n_steps = dataset.count_steps(lengths)
        assert n_steps == len(batches[rank])
        assert list(StreamLoader(dataset, num_workers=2, n_steps=n_steps)) == batches[rank]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_resumes_with_another_number_of_workers(rank: int) -> None:
    n_steps = dataset_of(rank, 2).count_steps(SHARDS.lengths)

    def loader(num_workers: int, state: Any = None) -> StreamLoader:
        dataset = dataset_of(rank, 2)
        if state is not None:
            dataset.load_state_dict(state)
        return StreamLoader(dataset, num_workers=num_workers, n_steps=n_steps, prefetch_factor=5)

    batches: list[Batch] = []
    state = None
    for num_workers, n_batches in [(2, 13), (4, 30), (1, 17), (2, 10**6)]:
        resumed = loader(num_workers, state)
        for i, batch in enumerate(resumed, start=1):
            batches.append(batch)
            state = resumed.state_dict()
            if i == n_batches:
                break
    uninterrupted, _ = run_ranks(2)
    assert batches == uninterrupted[rank]


def test_steps_known_beforehand_need_no_agreement_and_must_be_enough() -> None:
    loader = StreamLoader(dataset_of(), n_steps=len(UNINTERRUPTED) - 1)
    with pytest.raises(ValueError, match="n_steps: expected all packs of rank 0 to fit, got "):
        list(loader)
    more = StreamLoader(dataset_of(), n_steps=len(UNINTERRUPTED) + 2)
    assert list(more) == [*UNINTERRUPTED, (-1, ()), (-1, ())]


@pytest.mark.parametrize("n_steps", [1, 30, 75])
def test_two_ranks_resume(n_steps: int) -> None:
    uninterrupted, _ = run_ranks(2)
    before, states = run_ranks(2, n_steps)
    after, _ = run_ranks(2, state=states)
    assert [a + b for a, b in zip(before, after, strict=True)] == uninterrupted
    merged, _ = run_ranks(2, state=merge_stream_states(states[::-1]))
    assert merged == after


@pytest.mark.parametrize(("n_before", "n_after"), [(2, 1), (1, 2), (2, 4), (8, 2), (4, 8)])
@pytest.mark.parametrize("n_steps", [3, 20])
def test_another_number_of_ranks_goes_on_without_loss(n_before: int, n_after: int, n_steps: int) -> None:
    before, states = run_ranks(n_before, n_steps)
    state = merge_stream_states(states)
    after, _ = run_ranks(n_after, state=state)
    check_once(trained(before) + trained(after))
    assert len({len(rank) for rank in after}) == 1
    dataset = dataset_of(0, n_after)
    dataset.load_state_dict(state)
    assert dataset.count_steps(SHARDS.lengths) == n_steps + len(after[0])
    if n_after == 1 and n_steps == 3:
        # Until shards end, one rank trains what two trained side by side.
        flat = [batch for step in zip(*before, strict=True) for batch in step]
        assert set(flat + after[0][:10]) == set(UNINTERRUPTED[: len(flat) + 10])


@pytest.mark.parametrize("seed", range(8))
def test_ranks_may_change_again_and_again(seed: int) -> None:
    draw = random.Random(seed)
    batches: list[Batch] = []
    state = None
    for _ in range(6):
        of_ranks, states = run_ranks(draw.choice([1, 2, 4, 8]), draw.randint(1, 12), state)
        batches += trained(of_ranks)
        if not any(of_ranks):
            break
        state = merge_stream_states(states)
    else:
        of_ranks, _ = run_ranks(draw.choice([1, 2, 4, 8]), None, state)
        batches += trained(of_ranks)
    check_once(batches)


def test_states_that_do_not_fit_are_refused() -> None:
    state = dataset_of(0, 2).state_dict()
    with pytest.raises(
        ValueError, match=r"state.turns: expected each shard of rank 1 of 2 once.*merge_stream"
    ):
        dataset_of(1, 2).load_state_dict(state)
    with pytest.raises(ValueError, match="state.setting: expected strategy 'ffd', got 'bfd'"):
        dataset_of(0, 2, strategy="ffd").load_state_dict(state)
    with pytest.raises(ValueError, match="state.n_shards: expected 4, got 8 "):
        dataset_of(0, 2, n_shards=4).load_state_dict(state)
    with pytest.raises(ValueError, match="state.version: expected 1, got 2 "):
        dataset_of(0, 2).load_state_dict({**state, "version": 2})
    with pytest.raises(ValueError, match=r"states: expected one of each of 2 ranks, got ranks \[0\]"):
        merge_stream_states([state])
    with pytest.raises(ValueError, match="states: expected equal step, got 0 of rank 0 and 1 of rank 1"):
        merge_stream_states([state, {**dataset_of(1, 2).state_dict(), "step": 1}])


def test_shards_that_cannot_be_dealt_evenly_are_refused() -> None:
    with pytest.raises(ValueError, match="n_shards: expected a multiple of 3 ranks .*, got 8"):
        dataset_of(0, 3)
    with pytest.raises(ValueError, match="n_shards: expected a multiple of 1 ranks x 3 workers .*, got 8"):
        StreamLoader(dataset_of(), num_workers=3)
    with pytest.raises(ValueError, match="gather_from_all_ranks: expected n_steps, a function or torch"):
        StreamLoader(dataset_of(0, 2))
    with pytest.raises(ValueError, match="batch_size: expected none, as the dataset decides it, got 4"):
        StreamLoader(dataset_of(), batch_size=4)
    with pytest.raises(ValueError, match="window_samples: expected integer"):
        dataset_of(window_samples=0)


def test_a_stream_that_has_changed_is_noticed() -> None:
    loader = one_rank()
    iterator = iter(loader)
    for _ in range(60):
        next(iterator)
    state = loader.state_dict()
    assert any(shard["window"]["held"]["samples"] for shard in state["shards"])
    other = Shards()
    other.lengths = [np.maximum(lengths, 2) - 1 for lengths in other.lengths]
    changed = StreamLoader(dataset_of(open_shard=other))
    changed.load_state_dict(state)
    with pytest.raises(ValueError, match=r"shard \d: expected .*, as before"):
        list(changed)


def train_by_gloo(rank: int, port: int, results: Any) -> None:
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    loader = StreamLoader(dataset_of(rank, 2), num_workers=2)
    results.put((rank, list(loader)))
    torch.distributed.destroy_process_group()


def test_two_processes_agree_by_torch_distributed() -> None:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = torch.multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=train_by_gloo, args=(rank, port, results)) for rank in range(2)]
    for process in processes:
        process.start()
    found = dict(results.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    batches, _ = run_ranks(2)
    assert [found[0], found[1]] == batches


@pytest.mark.parametrize("n_taken", [1, 5, 12])
def test_a_window_that_was_handed_out_in_part_must_be_the_same_again(n_taken: int) -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 300)
    data = [[sample] * length for sample, length in enumerate(lengths.tolist())]

    def loader_of(samples: list[list[int]], state: Any = None) -> StreamLoader:
        dataset = StreamDataset(
            lambda shard, n_shards, start: iter(samples[start:]),
            n_shards=1,
            strategy="bfd",
            capacity_tokens=64,
            window_samples=20,
            rank=0,
            world_size=1,
        )
        if state is not None:
            dataset.load_state_dict(state)
        return StreamLoader(dataset)

    loader = loader_of(data)
    batches = iter(loader)
    for _ in range(n_taken):
        next(batches)
    state = loader.state_dict()
    assert len(list(loader_of(data, state))) > 0
    changed = data[:3] + data[3:][::-1]
    for other in (changed, data[:10]):
        with pytest.raises(ValueError, match="shard 0: expected"):
            list(loader_of(other, state))
