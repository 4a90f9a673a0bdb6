"""What kind of source was given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

from packsim.lengths.arrow_columns import Selection
from packsim.lengths.bad_rows import describe
from packsim.lengths.errors import LengthsError
from packsim.lengths.files import open_files
from packsim.lengths.formats import format_of
from packsim.lengths.parts import Part
from packsim.lengths.sample_parts import DatasetPart, IterablePart, SequencePart
from packsim.lengths.table_parts import ReaderPart, TablePart


def parts_of(source: Any, selection: Selection) -> tuple[str, list[Part]]:
    """A description of the source, and its parts.

    Nothing optional is imported to look at it: Arrow tables and Hugging Face data sets are known by their
    classes.

    Raises
    ------
    LengthsError
        Where it is no source, or one that has to be chosen from.
    """
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source), open_files([source], selection)
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).__mro__}
    if isinstance(source, Mapping):
        what = "splits" if any(module == "datasets" for module, _ in kinds) else "keys"
        names = ", ".join(map(str, source)) or "none"
        raise LengthsError(
            f"source: expected one data set, got a {type(source).__name__} with {what} {names}"
        )
    if ("datasets", "Dataset") in kinds:
        return f"dataset {source._fingerprint}", [DatasetPart(source, selection)]
    if ("datasets", "IterableDataset") in kinds:
        return "iterable dataset", [IterablePart(source, "dataset")]
    if ("pyarrow", "Table") in kinds:
        return "table", [TablePart(source, selection)]
    if ("pyarrow", "RecordBatch") in kinds:
        return "record batch", [TablePart(source, selection, "record batch")]
    if ("pyarrow", "RecordBatchReader") in kinds:
        return "record batches", [ReaderPart(source, selection)]
    if isinstance(source, Sequence) and not isinstance(source, (bytes, bytearray)):
        return _sequence(source, selection)
    # A data frame would give the names of its columns.
    is_samples = not isinstance(source, (bytes, bytearray)) and not hasattr(source, "columns")
    if is_samples and isinstance(source, Iterable):
        n_samples = len(source) if isinstance(source, Sized) else None
        return type(source).__name__, [IterablePart(source, "samples", n_samples)]
    if is_samples and hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return type(source).__name__, [SequencePart(source, "samples")]
    raise LengthsError(f"source: expected files, a table, a data set or samples, got {describe(source)}")


def _sequence(source: Sequence[Any], selection: Selection) -> tuple[str, list[Part]]:
    first = source[0] if len(source) else None
    if isinstance(first, os.PathLike):
        if not all(isinstance(path, os.PathLike) for path in source):
            raise LengthsError("source: expected paths alone, got paths and other samples")
        paths = list(source)
        return ", ".join(map(os.fspath, paths)), open_files(paths, selection)
    if isinstance(first, str) and _is_path(first):
        # Else the lengths would be those of the paths.
        raise LengthsError(
            f"source: expected samples, got the path {first} as text; give files as pathlib.Path"
        )
    return type(source).__name__, [SequencePart(source, "samples")]


def _is_path(text: str) -> bool:
    return bool(format_of(text) and os.path.isfile(text)) or (os.sep in text and os.path.isdir(text))
