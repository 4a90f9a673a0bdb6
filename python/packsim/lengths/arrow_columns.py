"""Lengths straight from Arrow columns, and whether a column can give them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from packsim._loss_spans import IGNORE_INDEX, LossSpans
from packsim._optional import import_optional
from packsim.lengths.bad_rows import BadRows
from packsim.lengths.result import LONGEST_TOKENS

Wants = Literal["tokens", "text", "anything"]


@dataclass(frozen=True)
class Selection:
    """What of a sample is read.

    Attributes
    ----------
    column : str or None
        None for the whole sample.
    labels_column : str or None
        Labels beside token ids.
    wants : str
        What `column` has to hold: token ids (or lengths), text, or anything that a callable understands.
    """

    column: str | None
    labels_column: str | None
    wants: Wants

    @property
    def columns(self) -> list[str] | None:
        """Those to read; None for all."""
        if self.column is None:
            return None
        return [self.column] + ([self.labels_column] if self.labels_column else [])


def wanted_columns(
    names: Sequence[str], selection: Selection, place: str, mistakes: list[str]
) -> Iterator[str]:
    """The columns to look at, of those that there are; what is wrong with their names goes to `mistakes`."""
    shown = ", ".join(names) or "none"
    if selection.column is None and selection.wants != "anything":
        mistakes.append(f"{place}: expected column to be one of {shown}; got None")
    for name in selection.columns or []:
        n_found = list(names).count(name)
        if n_found == 1:
            yield name
        else:
            got = f"{n_found} columns of that name" if n_found else f"columns {shown}"
            mistakes.append(f"{place}: expected a column {name}, got {got}")


def schema_mistakes(schema: Any, selection: Selection, place: str) -> list[str]:
    """Why the columns of a schema cannot give lengths; empty where they can."""
    mistakes: list[str] = []
    for name in wanted_columns(schema.names, selection, place, mistakes):
        kind = schema.field(name).type
        if selection.wants == "text" and not _is_text(kind):
            mistakes.append(f"{place}: column {name}: expected text, got {kind}")
        if selection.wants == "tokens" and not (
            _is_token_list(kind) or (_is_length(kind) and name == selection.column)
        ):
            wanted = "lists of token ids, or lengths" if name == selection.column else "lists of labels"
            mistakes.append(f"{place}: column {name}: expected {wanted}, got {kind}")
    return mistakes


def _is_text(kind: Any) -> bool:
    types = import_optional("pyarrow", "Arrow data").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind) in ("string", "large_string", "string_view")


def _is_length(kind: Any) -> bool:
    return bool(import_optional("pyarrow", "Arrow data").types.is_integer(kind))


def _is_token_list(kind: Any) -> bool:
    types = import_optional("pyarrow", "Arrow data").types
    tests = (
        types.is_list,
        types.is_large_list,
        types.is_fixed_size_list,
        getattr(types, "is_list_view", lambda _: False),
        getattr(types, "is_large_list_view", lambda _: False),
    )
    if not any(test(kind) for test in tests):
        return False
    # An empty table's lists may have no type of element yet.
    return bool(types.is_integer(kind.value_type) or types.is_null(kind.value_type))


def column_lengths(column: Any, places: Any, name: str, bad_rows: BadRows) -> NDArray[np.int32]:
    """Lengths of the lists of a ChunkedArray, from their offsets, or its integers; int32 [n_rows].

    `places` gives the place of a row for an error. The values of the lists are not looked at.
    """
    if _is_length(column.type):
        lengths = column
    else:
        compute = import_optional("pyarrow.compute", "Arrow data")
        lengths = compute.list_value_length(column)
    if lengths.null_count:
        nulls = np.asarray(lengths.is_null())
        for row in np.flatnonzero(nulls).tolist():
            bad_rows.add(places(row), f"a value in column {name}", "None")
        lengths = lengths.fill_null(0)
    values: NDArray[Any] = lengths.to_numpy()
    for row in np.flatnonzero((values < 0) | (values > LONGEST_TOKENS)).tolist():
        bad_rows.add(places(row), f"0 to {LONGEST_TOKENS} tokens", str(values[row]))
    as_int32: NDArray[np.int32] = values.astype(np.int32)
    return as_int32


def loss_spans(
    labels: Any, lengths_tokens: NDArray[np.int32], places: Any, name: str, bad_rows: BadRows
) -> LossSpans | None:
    """Where the labels of each row are other than -100; None where rows are bad.

    A row has as many labels as tokens.
    """
    n_before = bad_rows.count
    n_labels = column_lengths(labels, places, name, bad_rows)
    if bad_rows.count > n_before:
        return None
    for row in np.flatnonzero(n_labels != lengths_tokens).tolist():
        bad_rows.add(places(row), f"{lengths_tokens[row]} labels in column {name}", f"{n_labels[row]}")
    for row in _rows_with_null_labels(labels, np.cumsum(n_labels, dtype=np.int64)):
        bad_rows.add(places(row), f"integers in column {name}", "None")
    if bad_rows.count > n_before:
        return None
    masks = [_mask(chunk.flatten()) for chunk in labels.chunks]
    return LossSpans.of_mask(np.concatenate([np.zeros(0, dtype=bool), *masks]), n_labels)


def _mask(labels: Any) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = labels.to_numpy(zero_copy_only=False) != IGNORE_INDEX
    return np.asarray(mask, dtype=bool)


def _rows_with_null_labels(labels: Any, ends: NDArray[np.int64]) -> list[int]:
    flat = [chunk.flatten() for chunk in labels.chunks]
    if not any(values.null_count for values in flat):
        return []
    nulls = np.concatenate([values.is_null().to_numpy(zero_copy_only=False) for values in flat])
    rows: list[int] = np.unique(np.searchsorted(ends, np.flatnonzero(nulls), side="right")).tolist()
    return rows
