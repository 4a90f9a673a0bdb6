"""What came of the rows of one chunk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._loss_spans import LossSpans
from packsim.lengths.bad_rows import BadRows, describe
from packsim.lengths.rows import MISSING, Rows
from packsim.lengths.token_counts import Unmeasurable, token_counts


@dataclass(frozen=True, eq=False)
class Measured:
    """Lengths of a chunk, int32 [n_rows], and where its tokens have loss; of bad rows they mean nothing."""

    lengths_tokens: NDArray[np.int32]
    loss_spans: LossSpans | None
    bad_rows: BadRows = field(default_factory=BadRows)
    place: str = ""


# The counts of a row, as token_counts() gives them; None where the row was bad.
RowCounts = tuple[int, "NDArray[np.bool_] | None"] | None


def measured_from(counts: list[RowCounts], rows: Rows, bad_rows: BadRows) -> Measured:
    known = [count for count in counts if count is not None]
    has_loss = bool(known) and known[0][1] is not None
    for row, count in enumerate(counts):
        if count is not None and (count[1] is not None) != has_loss:
            expected = "labels" if has_loss else "no labels"
            bad_rows.add(rows.place(row), f"{expected}, as in rows before", "none" if has_loss else "labels")
    lengths_tokens = np.array([count[0] if count else 0 for count in counts], np.int32)
    spans = _spans(counts, lengths_tokens) if has_loss and not bad_rows.count else None
    return Measured(lengths_tokens, spans, bad_rows, rows.place(0))


def _spans(counts: list[RowCounts], lengths_tokens: NDArray[np.int32]) -> LossSpans:
    """Makes spans of rows that are all good and have labels."""
    masks = [count[1] for count in counts if count is not None and count[1] is not None]
    return LossSpans.of_mask(np.concatenate(masks), lengths_tokens)


def count_results(values: list[Any], results: list[Any], rows: Rows, bad_rows: BadRows) -> Measured:
    """Counts what a tokenizer returned for the values that are not MISSING, in their order."""
    remaining = iter(results)
    counts: list[RowCounts] = []
    for row, value in enumerate(values):
        count = None
        if value is not MISSING:
            result = next(remaining)
            try:
                count = None if result is MISSING else token_counts(result)
            except Unmeasurable as mistake:
                bad_rows.add(f"{rows.place(row)}: the tokenizer's result", mistake.expected, mistake.got)
        counts.append(count)
    return measured_from(counts, rows, bad_rows)


def check_texts(values: list[Any], column: str | None, rows: Rows, bad_rows: BadRows) -> list[Any]:
    """The values, MISSING for those that are no text."""
    checked = list(values)
    for row, value in enumerate(values):
        if value is not MISSING and not isinstance(value, str):
            bad_rows.add(rows.place(row), f"text in column {column}" if column else "text", describe(value))
            checked[row] = MISSING
    return checked
