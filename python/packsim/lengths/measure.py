"""The way in: lengths of any source under any tokenizer."""

from __future__ import annotations

import os
from typing import Any

from packsim.lengths.arrow_columns import Selection
from packsim.lengths.chunk_cache import ChunkCache
from packsim.lengths.errors import raise_if_any
from packsim.lengths.file_part import FilePart
from packsim.lengths.measurers import ColumnMeasurer, Measurer
from packsim.lengths.measuring import Measuring, Progress
from packsim.lengths.parts import Part
from packsim.lengths.result import Lengths
from packsim.lengths.sources import parts_of
from packsim.lengths.tokenizers_known import identity_of, measurer_of
from packsim.lengths.workers import Workers, serial_tokenizers


def measure_lengths(
    source: Any,
    tokenize: Any = None,
    *,
    column: str | None = None,
    labels_column: str | None = None,
    batched: bool = False,
    add_special_tokens: bool = True,
    processes: int = 1,
    batch_samples: int = 1000,
    cache: str | os.PathLike[str] | None = None,
    source_key: str | None = None,
    tokenizer_key: str | None = None,
    progress: Progress | None = None,
) -> Lengths:
    """Measures how many tokens every sample has. Only lengths are kept.

    The result does not depend on `processes`, `batch_samples` or the cache.

    Parameters
    ----------
    source : path, pattern, list of pathlib.Path, or data
        Files (.parquet, .arrow, .jsonl, .ndjson, both also .gz and .zst, .json with a value a line, .csv, the
        .idx of Megatron-Core, WebDataset's .tar), folders of files of one format, of `save_to_disk` and of
        MosaicML streaming; a `datasets.Dataset` or `IterableDataset`; a pyarrow Table, RecordBatch or
        RecordBatchReader; any sequence or iterable of samples. A list of str holds samples, not paths.
    tokenize : tokenizer, callable or None
        A `tokenizers.Tokenizer`; a tokenizer of transformers, which is told not to truncate; or a function of
        a sample that returns token ids, a length, or a mapping with `input_ids` and perhaps `labels`. With
        None, the column holds token ids already, or lengths.
    column : str, optional
        What of a sample is tokenized. Without it, all of the sample, which for tables, files and data sets
        is a dict and needs a function. `document` (the default) or `sequence` of a .idx; an extension, or
        json/KEY, of a .tar.
    labels_column : str, optional
        With `tokenize` None, the labels beside the token ids, of which those other than -100 are counted, but
        for the first of a sample, which nothing predicts.
    batched : bool
        The function takes a list of samples and returns a list of results, or a mapping with `input_ids` and
        perhaps `labels` whose values are lists of one entry a sample.
    add_special_tokens : bool
        As the tokenizer has them.
    processes : int
        Workers, 1 for none. Only tokenizing is shared among them; data are read here.
    batch_samples : int
        Samples in a chunk, which is tokenized and stored as one. A few chunks are in memory at a time.
    cache : path, optional
        A folder that keeps measured chunks: the same call goes on where a killed one ended. It may be shared
        by any calls at any time.
    source_key, tokenizer_key : str, optional
        Identify, for the cache, a source in memory or behind an iterator, and a function; required there, as
        nothing else tells two of them apart. Change them when what they name changes.
    progress : callable, optional
        Called with the samples measured so far, and their total where it is known.

    Returns
    -------
    Lengths
        In the order of the data.

    Raises
    ------
    LengthsError
        For mistakes in arguments, columns, rows or files, each with its place. Of bad rows, those up to the
        chunk with the tenth are counted and ten are shown; nothing is skipped. The exception of a function is
        chained.
    OSError
        Where a file or the cache cannot be read or written.
    ImportError
        Where the source needs a package that is missing.
    RuntimeError
        Where a worker process was killed.
    """
    measurer, mistakes = measurer_of(tokenize, column, labels_column, batched, add_special_tokens)
    for name, value in (("processes", processes), ("batch_samples", batch_samples)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            mistakes.append(f"{name}: expected an integer of at least 1, got {value!r}")
    raise_if_any(mistakes)
    assert measurer is not None
    selection = Selection(column, labels_column, measurer.wants)
    description, parts = parts_of(source, selection)
    # What the shards of a data set have in common is said once.
    mistakes = list(dict.fromkeys(mistake for part in parts for mistake in part.mistakes()))
    raise_if_any(mistakes)
    caches = None
    if cache is not None:
        shared = [repr(column), repr(labels_column), str(batched), str(batch_samples)]
        identities = _identities(parts, measurer, source_key, tokenizer_key)
        caches = [ChunkCache(cache, [*identity, *shared]) for identity in identities]
    # Token ids are not worth sending to a process: looking at their offsets is quicker.
    n_workers = 1 if isinstance(measurer, ColumnMeasurer) else processes
    workers = Workers(measurer, n_workers)
    with serial_tokenizers(n_workers):
        try:
            return Measuring(parts, batch_samples, workers, caches).run(description, progress)
        finally:
            workers.stop()


def _identities(
    parts: list[Part], measurer: Measurer, source_key: str | None, tokenizer_key: str | None
) -> list[list[str]]:
    """Identifies every part with the tokenizer. Keys of the user add to what the data and the tokenizer
    tell."""
    tokenizer = identity_of(measurer)
    mistakes = []
    if tokenizer is None and tokenizer_key is None:
        mistakes.append(
            "tokenizer_key: expected a text with cache, as a function does not tell what it does, got None"
        )
    # Files always have an identity, but it takes reading them.
    unknown = any(not isinstance(part, FilePart) and part.identity() is None for part in parts)
    if unknown and source_key is None:
        mistakes.append("source_key: expected a text with cache, as nothing else names the samples, got None")
    raise_if_any(mistakes)
    shared = [repr(source_key), repr(tokenizer), repr(tokenizer_key)]
    # A source that has grown is another one, whatever its key says.
    return [[repr(part.identity()), repr(part.n_samples), *shared] for part in parts]
