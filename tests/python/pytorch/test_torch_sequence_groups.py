"""Packs that processes share, with degrees that change inside an iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import training  # noqa: E402
from cases import rows  # noqa: E402
from process_pool import ProcessPool  # noqa: E402
from training_cases import drawn_lengths, plan_of  # noqa: E402

import packsim  # noqa: E402
from packsim._rank_schedule import RankSchedule  # noqa: E402
from packsim.torch import PackedBatch, SequenceGroups  # noqa: E402

LENGTHS = drawn_lengths(40, seed=6, longest_tokens=64).tolist()


def plan_by(name: str, n_gpus: int, sp_degree: int) -> packsim.Plan:
    row = next(row for row in rows() if row.name == name)
    lengths = np.array(LENGTHS, dtype=np.int32)
    return plan_of(row, lengths, n_gpus, sp_degree=sp_degree, last_iteration="shorten")


def degrees(plan: packsim.Plan, world_size: int) -> list[set[int]]:
    """SP degrees on so many processes, of each iteration."""
    return [
        {turn.sp_degree for turn in turns if turn.micro_batch is not None}
        for turns in RankSchedule(plan, 0, world_size)
    ]


def check_gradients(pool: ProcessPool, plan: packsim.Plan, n_iterations: int) -> None:
    arguments = (plan.to_bytes(), LENGTHS, n_iterations, ["stable", "longalign"], True)
    for gradients in pool.run(training.packed_gradients, *arguments):
        for name, of_iterations in gradients.items():
            for iteration, found in enumerate(of_iterations):
                weights = training.defined_weights(plan, iteration, name)
                expected = training.unpacked_gradient(plan, LENGTHS, iteration, weights)
                assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)


def test_degrees_that_change_from_iteration_to_iteration(two_processes: ProcessPool) -> None:
    plan = plan_by("hbp", 2, 2)
    found = degrees(plan, 2)
    n_iterations = 1 + max(found.index({1}), found.index({2}))
    check_gradients(two_processes, plan, n_iterations)


@pytest.mark.parametrize("name", ["megatron_hybrid_cp", "megatron_dynamic_cp"])
def test_degrees_that_change_inside_an_iteration(name: str, two_processes: ProcessPool) -> None:
    plan = plan_by(name, 2, 2)
    found = degrees(plan, 2)
    assert {1, 2} in found
    check_gradients(two_processes, plan, 1 + found.index({1, 2}))


@pytest.mark.parametrize("name", ["none", "wrapped"])
def test_rows_and_cut_samples_that_are_shared(name: str, two_processes: ProcessPool) -> None:
    plan = plan_by(name, 2, 2)
    assert degrees(plan, 2)[0] == {2}
    check_gradients(two_processes, plan, 2)


@pytest.mark.parametrize("sp_degree", [2, 4])
def test_four_processes(sp_degree: int, four_processes: ProcessPool) -> None:
    # At degree 2, two groups train side by side; at 4 there are more processes than heads of keys.
    check_gradients(four_processes, plan_by("megatron_hybrid_cp", 4, sp_degree), 2)


def test_fewer_processes_than_the_plan_has_gpus(two_processes: ProcessPool) -> None:
    # Packs on four GPUs are shared by two processes; those on one or two are not.
    plan = plan_by("hbp", 4, 4)
    assert {len(m.samples) > 0 for m in plan.micro_batches(0)} == {True}
    assert set().union(*degrees(plan, 2)) == {1, 2}
    check_gradients(two_processes, plan, 2)


def count_groups(plan_bytes: bytes) -> tuple[int, bool]:
    groups = SequenceGroups(packsim.Plan.from_bytes(plan_bytes))
    return len(groups), groups.of(None) is None


def test_groups_are_made_for_the_degrees_of_the_plan(two_processes: ProcessPool) -> None:
    assert two_processes.run(count_groups, plan_by("hbp", 2, 2).to_bytes()) == [(1, True)] * 2
    assert two_processes.run(count_groups, plan_by("hbp", 2, 1).to_bytes()) == [(0, True)] * 2
    assert two_processes.run(count_groups, plan_by("hbp", 4, 2).to_bytes()) == [(0, True)] * 2


def parts(_: int) -> Any:
    batch = PackedBatch(
        {
            "input_ids": torch.arange(8)[None],
            "labels": torch.tensor([[-100, 1, 2, 3, -100, 5, 6, 7]]),
            "position_ids": torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3]]),
            "loss_weights": torch.tensor([[0.0, 1, 2, 3, 0, 5, 6, 7]]),
            "cu_seqlens": torch.tensor([0, 4, 8], dtype=torch.int32),
        },
        n_padding_tokens=3,
    )
    groups = SequenceGroups(plan_by("hbp", 2, 2))
    group = next(iter(groups._groups.values()))
    part = groups.shard(batch, group)
    alone = groups.shard(batch, None)
    assert (part.n_padding_tokens, alone["input_ids"].shape) == (3, (1, 8))
    with pytest.raises(ValueError, match="batch: expected a multiple of 2 tokens in a row, got 7"):
        groups.shard(PackedBatch({"input_ids": torch.zeros(1, 7)}), group)
    return {name: value.tolist() for name, value in part.items()}, alone["shift_labels"].tolist()


def test_labels_are_shifted_before_the_row_is_cut(two_processes: ProcessPool) -> None:
    (first, whole), (second, _) = two_processes.run(parts, 0)
    assert first == {
        "input_ids": [[0, 1, 2, 3]],
        "position_ids": [[0, 1, 2, 3]],
        # The last token of the first part predicts what the second part begins with: nothing here.
        "shift_labels": [[1, 2, 3, -100]],
        "shift_loss_weights": [[1, 2, 3, 0]],
        "cu_seqlens": [0, 4, 8],
    }
    assert second["shift_labels"] == [[5, 6, 7, -100]]
    assert whole == [[1, 2, 3, -100, 5, 6, 7, -100]]
