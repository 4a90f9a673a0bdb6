"""Rows of Hugging Face data sets as arrays: the same batches as from lists."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
datasets = pytest.importorskip("datasets")

from training_cases import drawn_lengths, token_ids  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import PackCollator, PlanDataset, PlanLoader  # noqa: E402
from packsim.torch.arrow_rows import ArrowRows  # noqa: E402

LENGTHS = drawn_lengths(60, seed=4, longest_tokens=64)
ROWS = [
    {"input_ids": ids.tolist(), "labels": [-100, *ids[1:].tolist()], "name": f"sample {row}"}
    for row, ids in enumerate(token_ids(LENGTHS))
]
PACKING = packsim.pack(LENGTHS, strategy="bfd", capacity_tokens=64)
PLAN = packsim.make_plan(PACKING, last_iteration="shorten")


def made(rows: Any) -> Any:
    return datasets.Dataset.from_list(rows)


def shuffled_and_back() -> Any:
    """With an index of rows, in several chunks."""
    order = np.random.RandomState(2).permutation(len(ROWS))
    parts = [made([ROWS[row] for row in part]) for part in np.array_split(order, 4)]
    return datasets.concatenate_datasets(parts).select(np.argsort(order))


@pytest.mark.parametrize("source", [lambda: made(ROWS), shuffled_and_back])
def test_batches_are_those_of_lists(source: Any) -> None:
    collator = PackCollator(PLAN, columns={"name": "keep"})
    expected = list(PlanLoader(PLAN, ROWS, collator, rank=0, world_size=1))
    for num_workers in (0, 2):
        found = list(PlanLoader(PLAN, source(), collator, rank=0, world_size=1, num_workers=num_workers))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one["name"] == other["name"]
            for name in ("input_ids", "labels", "position_ids", "loss_weights"):
                assert torch.equal(one[name], other[name])


def test_arrays_are_of_the_columns_that_the_collator_reads() -> None:
    fetched = PlanDataset(made(ROWS), PLAN, as_arrays=True).__getitems__(PLAN.micro_batches(0)[0])
    assert [type(value) for value in fetched[0].values()] == [np.ndarray, np.ndarray, str]
    # Other collators than PackCollator may join lists.
    fetched = PlanDataset(made(ROWS), PLAN).__getitems__(PLAN.micro_batches(0)[0])
    assert [type(value) for value in fetched[0].values()] == [list, list, str]
    types: set[type] = set()

    def own_collator(pack: Any) -> Any:
        types.update(type(row["labels"]) for row in pack)
        return PackCollator(PLAN, columns={"name": "keep"})(pack)

    for _ in PlanLoader(PLAN, made(ROWS), own_collator, rank=0, world_size=1):
        pass
    assert types == {list}


def test_nulls_stay_what_they_were() -> None:
    rows = [
        {"input_ids": [1, 2], "labels": None},
        {"input_ids": [3], "labels": [None]},
        {"input_ids": [4], "labels": [4]},
    ]
    fetch = ArrowRows.of(made(rows))
    assert fetch is not None
    found = fetch([2, 0, 1])
    assert [row["labels"] for row in found[1:]] == [None, [None]]
    assert [np.asarray(row["input_ids"]).tolist() for row in found] == [[4], [1, 2], [3]]


def test_formats_and_transforms_of_the_user_are_kept() -> None:
    assert ArrowRows.of(ROWS) is None
    assert ArrowRows.of(made([{"input_ids": "text"}])) is None
    assert ArrowRows.of(made(ROWS).with_format("numpy")) is None
    assert ArrowRows.of(made(ROWS).with_format(None, columns=["labels"])) is None
    changed = made(ROWS)
    fetch = ArrowRows.of(changed)
    assert fetch is not None
    changed.set_transform(lambda batch: {"input_ids": [[9]] * len(batch["name"])})
    assert fetch([3]) == [{"input_ids": [9]}]


def test_workers_that_are_spawned_get_a_copy() -> None:
    dataset = pickle.loads(pickle.dumps(PlanDataset(made(ROWS), PLAN, as_arrays=True)))
    assert dataset.__getitems__(PLAN.micro_batches(0)[0])[0]["labels"][0] == -100
