"""measure(): lengths of a Ray data set, a file for each shard."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from packsim._arguments import Problems, described
from packsim._loss_spans import LossSpans
from packsim.lengths import Lengths, LengthsError, measure_lengths
from packsim.ray._ray import import_ray

_MOST_MISTAKES = 10  # batches of which one error tells


def measure(
    dataset: Any,
    tokenize: Any = None,
    *,
    folder: str | os.PathLike[str],
    shard_samples: int,
    column: str | None = None,
    labels_column: str | None = None,
    batched: bool = False,
    add_special_tokens: bool = True,
    batch_samples: int = 1000,
) -> list[Path]:
    """Measure a `ray.data.Dataset` on the cluster, in the order of its rows.

    Ray Data reads and tokenizes; only lengths come back, and every `shard_samples` of them are a shard with a
    file of its own, which `pack_shards()` takes. A file appears when it is complete.

    Parameters
    ----------
    dataset : ray.data.Dataset
        With its rows in a fixed order: `DataContext.execution_options.preserve_order` is set while it runs.
    tokenize, column, labels_column, batched, add_special_tokens
        As for `packsim.lengths.measure_lengths`; a function must be picklable.
    folder : path
        Made where it is missing.
    shard_samples : int
        Samples of each shard but the last.
    batch_samples : int
        Rows that are tokenized at a time.

    Returns
    -------
    list of Path
        The files, shard after shard.

    Raises
    ------
    ValueError
        For arguments that are wrong.
    LengthsError
        For columns or rows that are wrong: in which samples, which rows of them, and what is wrong. Only
        files of shards before them are written.
    """
    with Problems() as problems:
        shard_samples = problems.integer("shard_samples", shard_samples, 1, 2**32 - 1)
        batch_samples = problems.integer("batch_samples", batch_samples, 1, 2**31 - 1)
        data = import_ray("ray.data")
        if not isinstance(dataset, data.Dataset):
            problems.add(f"dataset: expected a ray.data.Dataset, got {described(dataset)}")
    place = Path(folder).absolute()
    place.mkdir(parents=True, exist_ok=True)
    arguments = {
        "column": column,
        "labels_column": labels_column,
        "batched": batched,
        "add_special_tokens": add_special_tokens,
    }
    measured = dataset.map_batches(
        _measured,
        batch_size=batch_samples,
        batch_format="pyarrow",
        fn_kwargs={"tokenize": tokenize, "arguments": arguments},
    )
    options = measured.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    paths: list[Path] = []
    try:
        for lengths in _shards(measured, shard_samples):
            ending = ".npy" if lengths.loss_spans is None else ".npz"
            path = place / f"lengths-{len(paths):06d}{ending}"
            lengths.save(path)
            paths.append(path)
    finally:
        options.preserve_order = before
    return paths


def _measured(batch: Any, tokenize: Any, arguments: dict[str, Any]) -> Any:
    """Returns, in a task, a row with the lengths of a batch of rows, or with what is wrong with them.

    Ray keeps of an exception in a task only its text between stack traces.
    """
    lengths, mistake = b"", ""
    try:
        lengths = pickle.dumps(measure_lengths(batch, tokenize, **arguments))
    except LengthsError as error:
        mistake = str(error)
    arrow = import_ray("pyarrow")
    return arrow.table({"n_rows": [batch.num_rows], "lengths": [lengths], "mistake": [mistake]})


def _shards(measured: Any, shard_samples: int) -> Iterator[Lengths]:
    parts: list[Lengths] = []
    mistakes: list[str] = []
    n_samples = n_seen = 0
    for row in measured.iter_rows():
        first_sample, n_seen = n_seen, n_seen + row["n_rows"]
        if row["mistake"]:
            mistakes.append(f"samples {first_sample} to {n_seen - 1}: {row['mistake']}")
            if len(mistakes) == _MOST_MISTAKES:
                break
        if mistakes:  # samples behind them would be in wrong shards
            continue
        part: Lengths = pickle.loads(row["lengths"])
        while n_samples + len(part) >= shard_samples:
            n_taken = shard_samples - n_samples
            yield _joined([*parts, _slice(part, 0, n_taken)])
            part, parts, n_samples = _slice(part, n_taken, len(part)), [], 0
        parts.append(part)
        n_samples += len(part)
    if mistakes:
        raise LengthsError("\n".join(mistakes))
    if n_samples:
        yield _joined(parts)


def _slice(lengths: Lengths, begin: int, end: int) -> Lengths:
    spans = lengths.loss_spans
    of_slice = None if spans is None else spans.take(slice(begin, end))
    return Lengths(lengths.lengths_tokens[begin:end], of_slice)


def _joined(parts: list[Lengths]) -> Lengths:
    lengths = np.concatenate([part.lengths_tokens for part in parts])
    spans = [part.loss_spans for part in parts if part.loss_spans is not None]
    return Lengths(lengths, LossSpans.joined(spans) if len(spans) == len(parts) else None, "a Ray data set")
