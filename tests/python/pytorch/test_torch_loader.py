"""The loader: the same batches after any interruption."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import Phase, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from training_cases import drawn_lengths, token_ids  # noqa: E402

import packsim  # noqa: E402
from packsim.stream_sources import FileShards  # noqa: E402
from packsim.torch import PackedBatch, PlanLoader, PlanSampler, StreamDataset  # noqa: E402

LENGTHS = drawn_lengths(70, seed=8, longest_tokens=64)
DATA = token_ids(LENGTHS)


def made_plan(last_iteration: Any = "shorten", seed: int = 1024) -> packsim.Plan:
    packing = packsim.pack(LENGTHS, strategy="hbp", capacity_tokens=[16, 64])
    return packsim.make_plan(
        packing,
        n_gpus=4,
        sp_degree=[1, 2],
        tokens_per_iteration=256,
        epochs=2,
        last_iteration=last_iteration,
        seed=seed,
    )


def repacked_of(order: Any, seed: int) -> packsim.Plan:
    packing = packsim.pack(LENGTHS[order], strategy="bfs", capacity_tokens=64, seed=seed)
    return packsim.make_plan(packing, n_gpus=4, last_iteration="shorten", seed=seed)


PLANS: dict[str, Any] = {last: made_plan(last) for last in ("drop", "repeat", "shorten")}
PLAN = PLANS["shorten"]
PLANS["repacked"] = packsim.RepackedPlan(repacked_of, n_samples=len(LENGTHS), epochs=2)


def order(batches: Any) -> list[tuple[int, list[int], bool]]:
    return [(b.micro_batch.iteration, list(b.micro_batch), b.is_last) for b in batches]


def uninterrupted(plan: Any, rank: int, world_size: int) -> list[tuple[int, list[int], bool]]:
    loader = PlanLoader(plan, DATA, rank=rank, world_size=world_size)
    return [one for _ in range(plan.n_epochs) for one in order(loader)]


# Not shrunk: that would start hundreds of workers.
@settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(data=st.data())
def test_killed_and_resumed_anywhere_the_order_is_the_same(data: st.DataObject) -> None:
    last = data.draw(st.sampled_from(sorted(PLANS)))
    plan = PLANS[last]
    for rank in range(2):
        expected = uninterrupted(plan, rank, 2)
        got: list[tuple[int, list[int], bool]] = []
        state = None
        while len(got) < len(expected):
            # A new process each time, with other workers, that is killed behind so many batches.
            n_workers = data.draw(st.sampled_from([0, 0, 0, 1, 2, 4]))
            n_batches = data.draw(st.integers(1, len(expected)))
            loader = PlanLoader(plan, DATA, rank=rank, world_size=2, num_workers=n_workers)
            if state is not None:
                loader.load_state_dict(state)
            got += order(itertools.islice(itertools.chain(loader, loader), n_batches))
            state = loader.state_dict()
        assert got[: len(expected)] == expected
    # Packs are on two GPUs at most, so that no two of the two processes share one.
    per_epoch = Counter(
        sample
        for rank in range(2)
        for iteration, samples, _ in uninterrupted(plan, rank, 2)
        if iteration < plan.iterations_per_epoch
        for sample in samples
    )
    expected_counts = Counter(
        sample
        for iteration in range(plan.iterations_per_epoch)
        for micro_batch in plan.micro_batches(iteration)
        for sample in micro_batch
    )
    assert per_epoch == expected_counts
    if last == "shorten":
        assert per_epoch == Counter(range(len(LENGTHS)))


@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_what_workers_fetched_ahead_is_not_counted(num_workers: int) -> None:
    expected = uninterrupted(PLAN, 0, 2)
    loader = PlanLoader(PLAN, DATA, rank=0, world_size=2, num_workers=num_workers, prefetch_factor=4)
    got = order(itertools.islice(loader, 3))
    resumed = PlanLoader(PLAN, DATA, rank=0, world_size=2)
    resumed.load_state_dict(loader.state_dict())
    got += order(resumed)
    got += order(resumed)  # the second epoch
    assert got == expected


def test_persistent_workers_go_on_behind_a_break() -> None:
    loader = PlanLoader(PLAN, DATA, rank=1, world_size=2, num_workers=2, persistent_workers=True)
    got = order(itertools.islice(loader, 2))
    got += order(itertools.islice(loader, 2))
    got += order(loader)
    assert got + order(loader) == uninterrupted(PLAN, 1, 2)


def test_tensors_are_those_of_the_data() -> None:
    for batch in PlanLoader(PLAN, DATA, rank=0, world_size=1, num_workers=1):
        assert isinstance(batch, PackedBatch)
        ids = np.concatenate([DATA[sample] for sample in batch.micro_batch])
        assert batch["input_ids"][0, : len(ids)].tolist() == ids.tolist()


def test_steps_are_the_iterations_of_the_plan() -> None:
    loader = PlanLoader(PLAN, DATA, rank=0, world_size=2)
    n_batches = len(loader)
    steps = [order(step) for step in loader.steps()]
    assert [one for step in steps for one in step] == uninterrupted(PLAN, 0, 2)[:n_batches]
    assert len(steps) == PLAN.iterations_per_epoch
    for iteration, step in enumerate(steps):
        assert {one[0] for one in step} == {iteration}
        assert [is_last for _, _, is_last in step] == [False] * (len(step) - 1) + [True]
    assert (loader.epoch, loader.steps_done) == (1, PLAN.iterations_per_epoch)
    with pytest.raises(RuntimeError, match="all batches of a step"):
        for _ in loader.steps():
            pass


def test_a_state_between_steps_goes_on_with_another_number_of_processes() -> None:
    loader = PlanLoader(PLAN, DATA, rank=0, world_size=1)
    for n_steps, step in enumerate(loader.steps()):
        before = loader.state_dict()
        assert (before["iteration"], before["turn"]) == (n_steps, 0)
        trained = sum(1 for _ in step)
        assert trained > 0
        if n_steps == 1:
            break
    state = loader.state_dict()
    assert (state["epoch"], state["iteration"], state["turn"], state["world_size"]) == (0, 2, 0, 1)
    rest = []
    for rank in range(4):
        other = PlanLoader(PLAN, DATA, rank=rank, world_size=4)
        other.load_state_dict(state)
        rest.append([one for one in order(other)])
        assert {iteration for iteration, _, _ in rest[-1]} == set(range(2, PLAN.iterations_per_epoch))
    expected = {tuple(m) for i in range(2, PLAN.iterations_per_epoch) for m in PLAN.micro_batches(i)}
    assert {tuple(samples) for of_rank in rest for _, samples, _ in of_rank if samples} == expected


def test_states_that_do_not_fit_are_refused() -> None:
    loader = PlanLoader(PLAN, DATA, rank=0, world_size=1)
    next(iter(loader))
    state = loader.state_dict()
    assert state["turn"] == 1
    with pytest.raises(ValueError, match="state: expected world_size 1, got 2: it was taken behind turn 1"):
        PlanLoader(PLAN, DATA, rank=0, world_size=2).load_state_dict(state)
    other = made_plan(seed=7)
    with pytest.raises(ValueError, match=f"expected one of plan {other.content_hash}, got one of plan"):
        PlanLoader(other, DATA, rank=0, world_size=1).load_state_dict(state)
    with pytest.raises(ValueError, match="state: expected a mapping of"):
        loader.load_state_dict({"epoch": 1})
    with pytest.raises(ValueError, match=r"state: iteration: expected integer in 0\.\."):
        loader.load_state_dict(state | {"iteration": 10**6})
    with pytest.raises(ValueError, match=r"state: turn: expected integer in 0\.\."):
        loader.load_state_dict(state | {"turn": 10**6})


def test_what_the_plan_decides_is_no_option() -> None:
    with pytest.raises(
        ValueError, match="options: expected none that the plan decides, got shuffle, collate_fn"
    ):
        PlanLoader(PLAN, DATA, shuffle=True, collate_fn=list)
    with pytest.raises(ValueError, match="dataset: expected 70 samples"):
        PlanLoader(PLAN, DATA[:-1])


def test_epochs_are_set_by_hand_or_follow_each_other() -> None:
    loader = PlanLoader(PLAN, DATA, rank=0, world_size=2)
    both = uninterrupted(PLAN, 0, 2)
    first = order(loader)
    loader.set_epoch(1)  # it is there already
    assert first + order(loader) == both
    loader.set_epoch(0)
    assert order(loader) == first
    assert order(itertools.islice(loader, 2)) == both[len(first) : len(first) + 2]
    loader.set_epoch(1)  # a place in the epoch stays
    assert order(loader) == both[len(first) + 2 :]


def test_an_older_iterator_gives_nothing_that_a_newer_one_gives_too() -> None:
    loader = PlanLoader(PLAN, DATA, rank=0, world_size=2)
    older, newer = iter(loader), iter(loader)
    first = next(older)
    second = next(newer)
    assert list(first.micro_batch) != list(second.micro_batch)
    with pytest.raises(RuntimeError, match="expected its newest iterator, begun after"):
        next(older)
    assert order([first, second, *newer]) == order(PlanLoader(PLAN, DATA, rank=0, world_size=2))


def test_a_plan_of_nothing_cannot_be_trained_and_says_why() -> None:
    plan = packsim.make_plan(
        packsim.pack([10, 20], strategy="bfd", capacity_tokens=64), n_gpus=4, last_iteration="drop"
    )
    with pytest.raises(ValueError, match="plan: expected at least one iteration, got none"):
        PlanLoader(plan, [[1] * 10, [1] * 20], rank=0, world_size=1)


@pytest.mark.parametrize("epoch", [1.5, True, "1", None, -1, 2**70])
def test_what_is_no_epoch_is_refused(epoch: Any) -> None:
    loader = PlanLoader(PLAN, DATA, rank=0, world_size=2)
    for part in (loader, PlanSampler(PLAN, 0, 2)):
        with pytest.raises(ValueError, match=r"epoch: expected integer in 0\.\.2147483647"):
            part.set_epoch(epoch)
    loader.set_epoch(np.int64(1))
    assert type(loader.state_dict()["epoch"]) is int


@pytest.mark.parametrize(("rank", "world_size"), [(2, 2), (-1, 2), (True, 2), (0, 0), (0, -1), ("0", 2)])
def test_what_is_no_rank_is_refused(rank: Any, world_size: Any) -> None:
    with pytest.raises(ValueError, match=r"(rank|world_size): expected integer in"):
        PlanLoader(PLAN, DATA, rank=rank, world_size=world_size)
    with pytest.raises(ValueError, match=r"(rank|world_size): expected integer in"):
        StreamDataset(
            FileShards(["a"] * 8, lambda name: [[1]]),
            n_shards=8,
            strategy="bfd",
            capacity_tokens=4,
            window_samples=4,
            rank=rank,
            world_size=world_size,
        )


def test_an_environment_that_cannot_be_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(ValueError, match="environment variable RANK: expected an integer, got 'x'"):
        PlanLoader(PLAN, DATA)
    with pytest.raises(ValueError, match="world_size: expected integer in 1"):
        PlanSampler.for_all_ranks(PLAN, 0)


def test_a_place_that_is_loaded_while_the_loop_runs_is_where_it_goes_on() -> None:
    loader = PlanLoader(PLAN, DATA, rank=0, world_size=2)
    whole = order(PlanLoader(PLAN, DATA, rank=0, world_size=2))
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    next(batches)
    loader.load_state_dict(state)
    with pytest.raises(RuntimeError, match="expected its newest iterator, begun after load_state_dict"):
        next(batches)
    assert loader.state_dict() == state
    assert order(loader) == whole[1:]
