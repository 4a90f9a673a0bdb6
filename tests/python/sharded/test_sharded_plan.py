"""A ShardedPlan deals every pack once an epoch, evenly, with exact weights, whatever process asks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sharded_data import drawn, packed

from packsim._rank_schedule import RankSchedule
from packsim.sharded import ShardArguments, ShardedPacks, ShardedPlan
from packsim.sharded.permutation import Permutation


@settings(max_examples=100, deadline=None)
@given(n=st.integers(1, 3000), seed=st.integers(0, 2**32))
def test_a_permutation_has_every_value_once(n: int, seed: int) -> None:
    permutation = Permutation(n, seed)
    values = permutation(np.arange(n))
    assert sorted(values.tolist()) == list(range(n))
    some = np.arange(0, n, 7)
    assert permutation(some).tolist() == values[some].tolist()


def test_a_permutation_of_any_size_is_computed_place_by_place() -> None:
    n = 10**12 + 39
    values = Permutation(n, 5)(np.arange(n - 100_000, n))
    assert len(set(values.tolist())) == 100_000
    assert values.min() >= 0 and values.max() < n


def test_permutations_look_drawn_at_random() -> None:
    # Over 2 400 seeds each of 24 orders of 4 is expected 100 times, with a standard deviation of 9.8.
    found = Counter(tuple(Permutation(4, seed)(np.arange(4)).tolist()) for seed in range(2400))
    assert len(found) == 24
    assert max(abs(n - 100) for n in found.values()) < 5 * 9.8
    # Neighbours end up as far apart as two places drawn at random: a third of all on average.
    values = Permutation(100_000, 1)(np.arange(100_000))
    assert np.abs(np.diff(values)).mean() == pytest.approx(100_000 / 3, rel=0.02)
    assert abs(np.corrcoef(values, np.arange(100_000))[0, 1]) < 0.015
    assert (values != Permutation(100_000, 2)(np.arange(100_000))).mean() > 0.999


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> ShardedPacks:
    arguments = ShardArguments("bfd", 256, over_long="drop")
    return packed(tmp_path_factory.mktemp("shards"), drawn([300, 250, 400], longest_tokens=250), arguments)


def samples_of(plan: ShardedPlan, iterations: range, world_size: int) -> list[int]:
    schedules = [RankSchedule(plan, rank, world_size) for rank in range(world_size)]
    found: list[int] = []
    for iteration in iterations:
        turns = [schedule.turns(iteration) for schedule in schedules]
        assert len({len(own) for own in turns}) == 1, "ranks differ in their number of micro-batches"
        weights = {t.micro_batch.weight for own in turns for t in own if t.micro_batch}
        loss_tokens = [int(t.micro_batch.loss_tokens.sum()) for own in turns for t in own if t.micro_batch]
        # The loss is the mean over all loss tokens of the iteration, of all ranks.
        assert weights == {1 / sum(loss_tokens)}
        found += [s for own in turns for turn in own for s in turn.micro_batch_or_empty()]
    return found


@pytest.mark.parametrize("order", ["balanced", "shuffled"])
@pytest.mark.parametrize("last", ["repeat", "drop", "shorten"])
def test_every_pack_is_trained_once_an_epoch_or_counted(packs: ShardedPacks, order: Any, last: Any) -> None:
    plan = ShardedPlan(packs, n_gpus=4, micro_batches_per_rank=3, epochs=2, order=order, last_iteration=last)
    lengths = np.concatenate(drawn([300, 250, 400], longest_tokens=250))
    expected = set(np.flatnonzero(lengths).tolist())
    assert packs.n_packs % 12 != 0  # else the last iteration is as all others
    for epoch in (0, 1):
        n = plan.iterations_per_epoch
        found = Counter(samples_of(plan, range(epoch * n, epoch * n + n), 4))
        counts = plan.epoch_counts(epoch)
        repeated = sum(int(lengths[sample]) * (times - 1) for sample, times in found.items())
        dropped = sum(int(lengths[sample]) for sample in expected - set(found))
        assert (repeated, dropped) == (counts.repeated_tokens, counts.dropped_tokens)
        assert max(found.values()) == (2 if last == "repeat" else 1)
        n_rest = packs.n_packs % 12
        assert counts.dropped_packs == (n_rest if last == "drop" else 0)
        assert counts.repeated_packs == (12 - n_rest if last == "repeat" else 0)
    assert samples_of(plan, range(1), 4) != samples_of(plan, range(n, n + 1), 4)


def test_another_number_of_processes_trains_the_same_packs(packs: ShardedPacks) -> None:
    plan = ShardedPlan(packs, n_gpus=4, micro_batches_per_rank=2)
    for iteration in range(plan.iterations_per_epoch):
        one = range(iteration, iteration + 1)
        found = [sorted(samples_of(plan, one, world_size)) for world_size in (1, 2, 4)]
        assert found[0] == found[1] == found[2]
    with pytest.raises(ValueError, match="expected a divisor of the plan's 4 GPUs, got 3"):
        RankSchedule(plan, 0, 3)


def test_balanced_iterations_have_nearly_the_same_work_on_all_gpus(packs: ShardedPacks) -> None:
    def spread(order: Any) -> float:
        """Work of the busiest GPU over the mean, a mean over full iterations."""
        plan = ShardedPlan(packs, n_gpus=4, micro_batches_per_rank=8, order=order)
        ratios = []
        for iteration in range(plan.iterations_per_epoch - 1):
            work = np.zeros(4)
            for micro_batch in plan.micro_batches(iteration):
                work[micro_batch.first_gpu] += float((micro_batch.tokens.astype(float) ** 2).sum())
            ratios.append(work.max() / work.mean())
        return float(np.mean(ratios))

    assert spread("balanced") < 1.01
    assert spread("shuffled") > 1.05


def test_mistakes_are_named_all_at_once(packs: ShardedPacks) -> None:
    with pytest.raises(ValueError) as caught:
        ShardedPlan(packs, n_gpus=0, order="sorted", last_iteration="pad", padding="multiple")  # type: ignore[arg-type]
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "pad_multiple_tokens",
        "n_gpus",
        "order",
        "last_iteration",
    ]
    plan = ShardedPlan(packs, n_gpus=2)
    with pytest.raises(IndexError, match=r"iteration: expected 0\.\."):
        plan.micro_batches(plan.n_iterations)


def test_a_plan_of_other_packs_or_arguments_is_another_one(packs: ShardedPacks, tmp_path: Path) -> None:
    other = packed(tmp_path, drawn([300, 250, 401], longest_tokens=250), packs.arguments)
    plans = [
        ShardedPlan(packs, n_gpus=2),
        ShardedPlan(packs, n_gpus=2, seed=7),
        ShardedPlan(packs, n_gpus=4),
        ShardedPlan(other, n_gpus=2),
    ]
    assert len({plan.content_hash for plan in plans}) == 4
    assert ShardedPlan(ShardedPacks.open(packs.folder), n_gpus=2).content_hash == plans[0].content_hash
