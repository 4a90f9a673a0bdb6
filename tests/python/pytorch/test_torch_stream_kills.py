"""Streams whose processes are killed at random steps: every sample once, same order, exact weights."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from killed_streams import Run, killed_again_and_again  # noqa: E402
from stream_training import N_SHARDS, check_every_sample_once, check_weights  # noqa: E402


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two ranks that nobody kills."""
    run = Run(tmp_path_factory.mktemp("whole"), saves_inside_steps=False)
    run.go_on(world_size=2, num_workers=0)
    return run


def joined(run: Run) -> list[list[Any]]:
    """What each rank has trained, where they are always as many."""
    return [[batch for part in of_rank for batch in part] for of_rank in zip(*run.trained, strict=True)]


def of_shards(run: Run) -> dict[int, list[Any]]:
    """The packs of each shard in the order in which they were trained: its samples and token ids."""
    found: dict[int, list[Any]] = {shard: [] for shard in range(N_SHARDS)}
    for ranks in run.trained:
        for of_rank in ranks:
            for shard, samples, _, _, tensors in of_rank:
                if shard >= 0:
                    found[shard].append((samples, tensors[0]))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_two_ranks_that_are_killed_train_as_if_nothing_had_happened(
    seed: int, whole: Run, tmp_path: Path
) -> None:
    """To the bit, from states inside optimizer steps, too, with 0, 1, 2 or 4 workers each time."""
    run = Run(tmp_path, saves_inside_steps=True)
    killed_again_and_again(run, random.Random(seed), world_sizes=[2])
    assert run.n_kills > 0
    ranks = joined(run)
    assert ranks == joined(whole)
    assert run.saved()["sum"] == whole.saved()["sum"]
    check_every_sample_once(ranks)
    check_weights(ranks, "stable")


@pytest.mark.parametrize("seed", range(3))
def test_killed_ranks_go_on_as_one_two_or_four(seed: int, whole: Run, tmp_path: Path) -> None:
    run = Run(tmp_path, saves_inside_steps=False)
    killed_again_and_again(run, random.Random(seed), world_sizes=[1, 2, 4])
    assert run.n_kills > 0
    check_every_sample_once([of_rank for ranks in run.trained for of_rank in ranks])
    assert of_shards(run) == of_shards(whole)
    for ranks in run.trained:
        if ranks[0]:
            check_weights(ranks, "stable")
