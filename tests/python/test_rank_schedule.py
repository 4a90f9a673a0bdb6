"""What each process trains: every pack once, by exactly its processes, and nobody waits for ever."""

from __future__ import annotations

from collections import Counter

import pytest
from cases import rows
from hypothesis import given, settings
from hypothesis import strategies as st
from training_cases import drawn_lengths, plan_of

import packsim
from packsim._rank_schedule import RankSchedule, Turn

ROWS = pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)


def fitting(plan: packsim.Plan) -> list[int]:
    """The numbers of processes that a plan fits on."""
    sizes = []
    for size in range(1, plan.n_gpus + 1):
        try:
            RankSchedule(plan, 0, size)
        except ValueError:
            continue
        sizes.append(size)
    return sizes


def check_iteration(plan: packsim.Plan, iteration: int, schedules: list[RankSchedule]) -> None:
    turns_of_ranks = [schedule.turns(iteration) for schedule in schedules]
    n_turns = schedules[0].n_turns(iteration)
    assert {len(turns) for turns in turns_of_ranks} == {n_turns}
    expected = Counter(
        (m.round, m.first_gpu, tuple(m.samples.tolist())) for m in plan.micro_batches(iteration)
    )
    trained: Counter[tuple[int, int, tuple[int, ...]]] = Counter()
    rounds = []
    for turn in range(n_turns):
        at_once: list[Turn] = [turns[turn] for turns in turns_of_ranks]
        rounds.append(at_once[0].round)
        assert {one.round for one in at_once} == {rounds[-1]}
        for rank, one in enumerate(at_once):
            assert rank in one.ranks
            if one.micro_batch is None:
                assert list(one.ranks) == [rank]
                continue
            # All processes of the pack have it in this turn: none of them waits for another turn.
            assert {at_once[other].micro_batch for other in one.ranks} == {one.micro_batch}
            assert {at_once[other].ranks for other in one.ranks} == {one.ranks}
            if rank == one.ranks[0]:
                m = one.micro_batch
                trained[m.round, m.first_gpu, tuple(m.samples.tolist())] += 1
            fold = schedules[0].gpus_per_rank
            gpus = range(one.micro_batch.first_gpu, one.micro_batch.first_gpu + one.micro_batch.group.n_gpus)
            assert {gpu // fold for gpu in gpus} == set(one.ranks)
        assert any(one.micro_batch is not None for one in at_once)
    assert trained == expected
    assert rounds == sorted(rounds)
    for turns in turns_of_ranks:
        # In a round by their first GPU, and idle at its end.
        order = [
            (turn.round, turn.micro_batch is None, turn.micro_batch_or_empty().first_gpu) for turn in turns
        ]
        assert order == sorted(order)


@ROWS
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_every_pack_is_trained_once_by_its_processes_in_one_turn(
    row: packsim.Strategy, data: st.DataObject
) -> None:
    n_gpus = data.draw(st.sampled_from([1, 2, 4, 6, 8, 12]))
    degree = data.draw(st.sampled_from([d for d in (1, 2, 3, 4, 8) if n_gpus % d == 0]))
    lengths = drawn_lengths(data.draw(st.integers(1, 120)), data.draw(st.integers(0, 99)), 64)
    last = data.draw(st.sampled_from(["drop", "repeat", "shorten"]))
    rounds = data.draw(st.integers(1, 3))
    plan = plan_of(row, lengths, n_gpus, sp_degree=degree, rounds=rounds, last_iteration=last)
    for world_size in fitting(plan):
        schedules = [RankSchedule(plan, rank, world_size) for rank in range(world_size)]
        for iteration in range(plan.n_iterations):
            check_iteration(plan, iteration, schedules)


def test_packs_of_one_process_follow_each_other_and_shared_ones_come_together() -> None:
    # 4 GPUs; a pack on all four, then two packs on two each. Two processes share the first; each has one of
    # the others on its own.
    packing = packsim.pack([8, 4, 4], strategy="hbp", capacity_tokens=[4, 8])
    plan = packsim.make_plan(packing, n_gpus=4, sp_degree=[2, 4], last_iteration="shorten")
    degrees = {tuple((turn.sp_degree, turn.ranks) for turn in turns) for turns in RankSchedule(plan, 1, 2)}
    assert degrees == {((2, range(2)),), ((1, range(1, 2)),)}
    # One process of four GPUs trains all of them, one after another.
    assert sorted(len(turns) for turns in RankSchedule(plan, 0, 1)) == [1, 2]


def test_a_last_iteration_that_is_short_leaves_processes_idle() -> None:
    packing = packsim.pack([4] * 3, strategy="ffd", capacity_tokens=4)
    plan = packsim.make_plan(packing, n_gpus=2, last_iteration="shorten", order="as_packed")
    first, second = (RankSchedule(plan, rank, 2) for rank in range(2))
    assert [turn.micro_batch is None for turn in first.turns(1)] == [False]
    assert [turn.micro_batch is None for turn in second.turns(1)] == [True]
    empty = second.turns(1)[0].micro_batch_or_empty()
    assert (len(empty), empty.n_tokens, empty.iteration, empty.group.n_gpus) == (0, 0, 1, 1)


def test_processes_that_a_plan_does_not_fit_on_are_refused() -> None:
    packing = packsim.pack([4] * 12, strategy="ffd", capacity_tokens=4)
    plan = packsim.make_plan(packing, n_gpus=12, sp_degree=4)
    with pytest.raises(ValueError, match="world_size: expected a divisor of the plan's 12 GPUs, got 5"):
        RankSchedule(plan, 0, 5)
    with pytest.raises(ValueError, match=r"rank: expected integer in 0\.\.3, got 4"):
        RankSchedule(plan, 4, 4)
    # Two processes of 6 GPUs: the pack on GPUs 4 to 7 would lie in both.
    with pytest.raises(ValueError, match=r"expected one of \[1, 3, 6, 12\], got 2"):
        RankSchedule(plan, 0, 2)
    with pytest.raises(IndexError, match=r"iteration: expected 0\.\."):
        RankSchedule(plan, 0, 1).turns(-1)


def test_epochs_beyond_the_plan_begin_again() -> None:
    packing = packsim.pack([4] * 12, strategy="ffd", capacity_tokens=4)
    plan = packsim.make_plan(packing, n_gpus=2, epochs=3)
    schedule = RankSchedule(plan, 0, 2)
    assert [schedule.iterations_of_epoch(epoch) for epoch in (0, 2, 3)] == [
        range(6),
        range(12, 18),
        range(6),
    ]
