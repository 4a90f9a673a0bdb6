"""PlanLoader executes a ShardedPlan: every sample once, exact weights, resumable, with workers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from training_cases import drawn_lengths, token_ids  # noqa: E402

from packsim.sharded import (  # noqa: E402
    ShardArguments,
    ShardedDataset,
    ShardedPlan,
    join_shards,
    pack_shard,
)
from packsim.torch import PlanLoader  # noqa: E402

SIZES = (50, 30, 41)
LENGTHS = [drawn_lengths(n, seed=n, longest_tokens=60) for n in SIZES]


def open_shard(shard: int) -> list[Any]:
    return token_ids(LENGTHS[shard], seed=shard)


@pytest.fixture
def plan(tmp_path: Path) -> ShardedPlan:
    for shard, lengths in enumerate(LENGTHS):
        pack_shard(lengths, ShardArguments("bfd", 64), folder=tmp_path, shard=shard)
    packs = join_shards(tmp_path, len(LENGTHS))
    return ShardedPlan(packs, n_gpus=2, micro_batches_per_rank=3, epochs=2, last_iteration="shorten")


def loader(plan: ShardedPlan, rank: int, **options: Any) -> PlanLoader:
    dataset = ShardedDataset(plan.packs, partial(open_shard))
    return PlanLoader(plan, dataset, rank=rank, world_size=2, **options)


def summary(batch: Any) -> tuple[Any, ...]:
    return batch.micro_batch.samples.tolist(), batch["input_ids"].tolist(), batch.is_last


def test_an_epoch_has_every_sample_once_with_weights_of_sum_one(plan: ShardedPlan) -> None:
    everything = np.concatenate([np.concatenate(open_shard(shard)) for shard in range(3)])
    loaders = [loader(plan, rank) for rank in (0, 1)]
    for _epoch in (0, 1):
        ids: list[int] = []
        samples: list[int] = []
        for steps in zip(*(one.steps() for one in loaders), strict=True):
            weight = 0.0
            for batch in [batch for step in steps for batch in step]:
                weight += float(batch["loss_weights"].double().sum())
                samples += batch.micro_batch.samples.tolist()
                if len(batch.micro_batch):
                    ids += batch["input_ids"].flatten().tolist()
            assert weight == pytest.approx(1, abs=1e-5)
        assert sorted(samples) == list(range(sum(SIZES)))
        assert sorted(ids) == sorted(everything.tolist())


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_goes_on_where_it_was_taken(plan: ShardedPlan, workers: int) -> None:
    expected = [summary(batch) for batch in loader(plan, 1)]
    first = loader(plan, 1, num_workers=workers)
    batches = iter(first)
    found = [summary(next(batches)) for _ in range(4)]
    state = first.state_dict()
    resumed = loader(plan, 1, num_workers=2 - workers)
    resumed.load_state_dict(state)
    assert found + [summary(batch) for batch in resumed] == expected
    other = ShardedPlan(plan.packs, n_gpus=2, micro_batches_per_rank=3, seed=5)
    with pytest.raises(ValueError, match="state: expected one of plan"):
        loader(other, 1).load_state_dict(state)


def test_a_data_set_of_another_size_is_refused(plan: ShardedPlan) -> None:
    with pytest.raises(ValueError, match="dataset: expected 121 samples, of which the plan was made, got 3"):
        PlanLoader(plan, [[1], [2], [3]], rank=0, world_size=2)
