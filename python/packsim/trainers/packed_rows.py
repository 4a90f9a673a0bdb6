"""The packs of a plan as rows of a file, for trainers that want a data set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from packsim._arguments import Problems
from packsim._plan import Plan
from packsim._whole_file import whole_file
from packsim.torch.collator import PackCollator
from packsim.torch.columns import COLLATOR_KEYS
from packsim.torch.dataset import MapStyleDataset, PlanDataset
from packsim.torch.packed_batch import PackedBatch
from packsim.torch.plan_state import checked_epoch
from packsim.torch.sampler import PlanSampler
from packsim.trainers._framework import framework

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class PackedRows:
    """What `packed_dataset()` has written.

    Attributes
    ----------
    n_rows : int
    n_idle_rows : int
        Rows of one token of padding, for processes that have nothing to train while others have.
    n_tokens, n_padding_tokens : int
        Of the data, and what fills rows up.
    """

    n_rows: int
    n_idle_rows: int
    n_tokens: int
    n_padding_tokens: int


def packed_dataset(
    plan: Plan,
    dataset: MapStyleDataset,
    path: str | os.PathLike[str],
    *,
    epoch: int = 0,
    world_size: int = 1,
    collator: PackCollator | None = None,
) -> PackedRows:
    """Write one epoch of a plan to a Parquet or Arrow file; a row is a pack.

    Row i is of process i modulo `world_size`: a trainer that reads rows in order, one a micro-batch, trains
    the plan's steps. The columns are input_ids, labels, position_ids, loss_weights and seq_lengths, lists
    with what PackCollator makes and the tokens of each document (padding at the end is one more); and
    iteration, n_samples, n_padding_tokens, is_last of each row. Trainers that have no place for loss_weights
    train the normaliser "stable" as long as they divide by the labels of all rows of a step.

    Parameters
    ----------
    plan, dataset
        As for PlanLoader.
    path
        Ends in .parquet or .arrow. Who reads it sees the file that was there, or the whole new one.
    epoch, world_size : int
    collator : PackCollator, optional
        By default `PackCollator(plan)`.

    Raises
    ------
    ValueError
        For another ending; for strategies whose samples are rows each; where dataset, plan and processes do
        not fit together; and for columns of the samples, other than ids and labels, that are not dropped.
    """
    collator = collator or PackCollator(plan)
    target = Path(path)
    with Problems() as problems:
        if target.suffix not in (".parquet", ".arrow"):
            problems.add(f'path: expected to end in .parquet or .arrow, got "{target.name}"')
        if collator.rules.layout != "packed":
            problems.add(f"plan: expected one of packed samples, got rows by {plan.facts['strategy']}")
    sampler = PlanSampler.for_all_ranks(plan, world_size)
    sampler.set_epoch(checked_epoch(epoch))
    samples = PlanDataset(dataset, plan)
    batches = (collator(samples.__getitems__(micro_batch)) for micro_batch in sampler)
    return _written(batches, target)


def _written(batches: Iterator[PackedBatch], target: Path) -> PackedRows:
    arrow = framework("pyarrow", "pyarrow")
    n_rows = n_idle = n_tokens = n_padding = 0
    with whole_file(target) as file, _writer(arrow, file, target.suffix) as writer:
        while rows := [_row(batch) for batch in islice(batches, _ROWS_AT_ONCE)]:
            writer.write_table(arrow.Table.from_pylist(rows, schema=_schema(arrow)))
            n_rows += len(rows)
            n_idle += sum(row["n_samples"] == 0 for row in rows)
            n_padding += sum(row["n_padding_tokens"] for row in rows)
            n_tokens += sum(len(row["input_ids"]) - row["n_padding_tokens"] for row in rows)
    return PackedRows(n_rows, n_idle, n_tokens, n_padding)


@contextmanager
def _writer(arrow: Any, file: BinaryIO, suffix: str) -> Iterator[Any]:
    schema = _schema(arrow)
    if suffix == ".parquet":
        with framework("pyarrow.parquet", "pyarrow").ParquetWriter(file, schema) as writer:
            yield writer
        return
    # The format that datasets maps.
    with arrow.ipc.new_stream(file, schema) as writer:
        yield writer


def _schema(arrow: Any) -> Any:
    lists = {name: arrow.int32() for name in ("input_ids", "labels", "position_ids", "seq_lengths")}
    lists["loss_weights"] = arrow.float32()
    fields = [(name, arrow.list_(member)) for name, member in lists.items()]
    numbers = [(name, arrow.int64()) for name in ("iteration", "n_samples", "n_padding_tokens")]
    return arrow.schema([*fields, *numbers, ("is_last", arrow.bool_())])


def _row(batch: PackedBatch) -> dict[str, Any]:
    assert batch.micro_batch is not None
    others = sorted(batch.keys() - COLLATOR_KEYS)
    if others:
        got = ", ".join(others)
        raise ValueError(
            f'collator: expected columns of rule "ones" or "drop", as rows have no others, got {got}'
        )
    names = ("input_ids", "labels", "position_ids", "loss_weights")
    row: dict[str, Any] = {name: batch[name].numpy().reshape(-1) for name in names}
    row["seq_lengths"] = np.diff(batch["cu_seqlens"].numpy())
    row |= {"iteration": batch.micro_batch.iteration, "n_samples": len(batch.micro_batch)}
    return row | {"n_padding_tokens": batch.n_padding_tokens, "is_last": batch.is_last}
