"""Rows of a Hugging Face data set as arrays, without making Python lists of token ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Columns whose lists the collator takes as arrays. Others stay what the data set makes of them.
_TOKEN_COLUMNS = ("input_ids", "labels", "attention_mask", "token_type_ids")
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


class ArrowRows:
    """Fetches rows of a `datasets.Dataset`, with lists of integers as read-only arrays.

    Python integers would be made of every token id otherwise, which takes most of a loader's time.
    """

    def __init__(self, dataset: Any, columns: list[str]) -> None:
        self._dataset = dataset
        self._columns = columns
        others = [name for name in dataset.column_names if name not in columns]
        self._tokens = dataset.with_format("arrow", columns=columns)
        self._rest = dataset.select_columns(others) if others else None

    @classmethod
    def of(cls, dataset: Any) -> ArrowRows | None:
        """None for data sets of other kinds, and for those with a format or a transform of their own."""
        kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(dataset).__mro__}
        if ("datasets", "Dataset") not in kinds or not _is_plain(dataset):
            return None
        columns = [
            name for name in dataset.column_names if name in _TOKEN_COLUMNS and _is_tokens(dataset, name)
        ]
        return cls(dataset, columns) if columns else None

    def __call__(self, samples: Sequence[int]) -> list[Any]:
        if not _is_plain(self._dataset):  # a format that was set meanwhile
            rows: list[Any] = self._dataset.__getitems__(list(samples))
            return rows
        table = self._tokens[list(samples)]
        arrays = [_arrays(table.column(name)) for name in self._columns]
        rows = [dict(zip(self._columns, row, strict=True)) for row in zip(*arrays, strict=True)]
        if self._rest is not None:
            for row, rest in zip(rows, self._rest.__getitems__(list(samples)), strict=True):
                row |= rest
        return rows


def _is_plain(dataset: Any) -> bool:
    found = dataset.format
    return found["type"] is None and set(found["columns"]) == set(dataset.column_names)


def _is_tokens(dataset: Any, name: str) -> bool:
    kind = dataset.features.arrow_schema.field(name).type
    return str(kind).startswith(("list<", "large_list<")) and str(kind.value_type) in _INTEGERS


def _arrays(column: Any) -> list[Any]:
    """An array for each list of a column; of chunks with a null, what Python makes of them."""
    arrays: list[Any] = []
    for chunk in column.chunks:
        if chunk.null_count or chunk.values.null_count:
            arrays += chunk.to_pylist()
            continue
        values, bounds = chunk.values.to_numpy(), chunk.offsets.tolist()
        arrays += [values[begin:end] for begin, end in zip(bounds[:-1], bounds[1:], strict=True)]
    return arrays
