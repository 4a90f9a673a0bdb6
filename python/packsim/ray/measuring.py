"""measure(): lengths of a Ray data set, a file for each shard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import Problems, described
from packsim.lengths import Lengths, measure_lengths
from packsim.ray._ray import import_ray

_NO_LABELS = -1  # in a batch's loss tokens


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
        For arguments that are wrong, or rows: which row of its batch, and what is wrong with it.
    """
    problems = Problems()
    shard_samples = problems.integer("shard_samples", shard_samples, 1, 2**32 - 1)
    batch_samples = problems.integer("batch_samples", batch_samples, 1, 2**31 - 1)
    data = import_ray("ray.data")
    if not isinstance(dataset, data.Dataset):
        problems.add(f"dataset: expected a ray.data.Dataset, got {described(dataset)}")
    problems.raise_if_any()
    place = Path(folder)
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
        for lengths in _shards(measured, shard_samples, labels_column is not None):
            ending = ".npy" if lengths.loss_tokens is None else ".npz"
            path = place / f"lengths-{len(paths):06d}{ending}"
            lengths.save(path)
            paths.append(path)
    except Exception as error:
        cause = getattr(error, "cause", None) or error.__cause__
        if isinstance(cause, ValueError):
            raise ValueError(str(cause)) from error
        raise
    finally:
        options.preserve_order = before
    return paths


def _measured(batch: Any, tokenize: Any, arguments: dict[str, Any]) -> dict[str, NDArray[np.int32]]:
    """In a task: the lengths of a batch of rows."""
    lengths = measure_lengths(batch, tokenize, **arguments)
    losses = lengths.loss_tokens
    if losses is None:
        losses = np.full(len(lengths), _NO_LABELS, dtype=np.int32)
    return {"lengths_tokens": lengths.lengths_tokens, "loss_tokens": losses}


def _shards(measured: Any, shard_samples: int, has_labels: bool) -> Iterator[Lengths]:
    parts: list[NDArray[np.int32]] = []  # each of shape (2, n_samples)
    n_samples = 0
    for batch in measured.iter_batches(batch_size=None, batch_format="numpy"):
        part = np.stack([batch["lengths_tokens"], batch["loss_tokens"]]).astype(np.int32)
        while n_samples + part.shape[1] >= shard_samples:
            n_taken = shard_samples - n_samples
            yield _lengths([*parts, part[:, :n_taken]], has_labels)
            part, parts, n_samples = part[:, n_taken:], [], 0
        parts.append(part)
        n_samples += part.shape[1]
    if n_samples:
        yield _lengths(parts, has_labels)


def _lengths(parts: list[NDArray[np.int32]], has_labels: bool) -> Lengths:
    lengths, losses = np.concatenate(parts, axis=1)
    # A function may tell labels without a labels column.
    known = has_labels or (len(losses) > 0 and bool((losses != _NO_LABELS).all()))
    return Lengths(lengths, losses if known else None, "a Ray data set")
