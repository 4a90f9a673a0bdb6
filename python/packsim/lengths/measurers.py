"""Measurers make lengths of rows: by columns of token ids, tokenizers, and callables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from packsim.lengths.arrow_columns import Selection, Wants, column_lengths, loss_spans
from packsim.lengths.bad_rows import BadRows, describe
from packsim.lengths.measured import Measured, RowCounts, check_texts, count_results, measured_from
from packsim.lengths.rows import MISSING, Rows, TableRows
from packsim.lengths.token_counts import Unmeasurable, loss_mask, token_counts


class Measurer(Protocol):
    """Travels to worker processes, so all of it must be picklable there."""

    @property
    def wants(self) -> Wants:
        """What the column has to hold."""

    def measure(self, rows: Rows) -> Measured:
        """Lengths of all rows; a row that has none is a bad row."""


@dataclass(frozen=True)
class ColumnMeasurer:
    """The data hold token ids, or lengths."""

    selection: Selection
    wants: Wants = "tokens"

    def measure(self, rows: Rows) -> Measured:
        if isinstance(rows, TableRows):
            return self._measure_table(rows)
        bad_rows = BadRows()
        column, labels_column = self.selection.column, self.selection.labels_column
        values = rows.values(column, bad_rows)
        labels = rows.values(labels_column, bad_rows) if labels_column else [None] * len(values)
        counts: list[RowCounts] = []
        for row, (value, labels_value) in enumerate(zip(values, labels, strict=True)):
            count = None
            try:
                if value is not MISSING and labels_value is not MISSING:
                    count = token_counts(value)
                    if labels_column:
                        count = count[0], loss_mask(labels_value, count[0])
            except Unmeasurable as mistake:
                bad_rows.add(rows.place(row), mistake.expected, mistake.got)
            counts.append(count)
        return measured_from(counts, rows, bad_rows)

    def _measure_table(self, rows: TableRows) -> Measured:
        bad_rows = BadRows()
        # A source whose column needs no name has only that one; schema_mistakes refuses others.
        column = self.selection.column or rows.table.column_names[0]
        labels_column = self.selection.labels_column
        lengths_tokens = column_lengths(rows.table.column(column), rows.place, column, bad_rows)
        spans = None
        if labels_column:
            labels = rows.table.column(labels_column)
            spans = loss_spans(labels, lengths_tokens, rows.place, labels_column, bad_rows)
        return Measured(lengths_tokens, spans, bad_rows, rows.place(0))


@dataclass(frozen=True)
class TokenizerMeasurer:
    """A `tokenizers.Tokenizer`; `encode_batch_fast` leaves out the offsets into the text."""

    tokenizer: Any
    column: str | None
    add_special_tokens: bool
    wants: Wants = "text"

    def measure(self, rows: Rows) -> Measured:
        bad_rows = BadRows()
        values = check_texts(rows.values(self.column, bad_rows), self.column, rows, bad_rows)
        values, results = _encode(self._encode_batch, values, rows, bad_rows)
        return count_results(values, results, rows, bad_rows)

    def _encode_batch(self, texts: list[str]) -> list[Any]:
        """Numbers of tokens, or their ids."""
        encode = getattr(self.tokenizer, "encode_batch_fast", self.tokenizer.encode_batch)
        return [len(encoding) for encoding in encode(texts, add_special_tokens=self.add_special_tokens)]


@dataclass(frozen=True)
class TransformersMeasurer(TokenizerMeasurer):
    """A tokenizer of the transformers package, told neither to pad nor to truncate."""

    def _encode_batch(self, texts: list[str]) -> list[Any]:
        ids: list[Any] = self.tokenizer(
            texts,
            add_special_tokens=self.add_special_tokens,
            padding=False,
            truncation=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        return ids


def _encode(
    encode_batch: Callable[[list[str]], list[Any]], values: list[Any], rows: Rows, bad_rows: BadRows
) -> tuple[list[Any], list[Any]]:
    """The values, MISSING where they could not be encoded, and what came of the others."""
    texts = [value for value in values if value is not MISSING]
    try:
        return values, encode_batch(texts) if texts else []
    except Exception:
        pass
    # One of them is bad: find out which.
    kept, encodings = list(values), []
    for row, value in enumerate(values):
        if value is MISSING:
            continue
        try:
            encodings += encode_batch([value])
        except Exception as error:
            bad_rows.add_exception(rows.place(row), error)
            kept[row] = MISSING
    return kept, encodings


@dataclass(frozen=True)
class CallableMeasurer:
    """A function of the user, of one value or of a list of them."""

    function: Callable[[Any], Any]
    column: str | None
    batched: bool
    wants: Wants = "anything"

    def measure(self, rows: Rows) -> Measured:
        bad_rows = BadRows()
        values = rows.values(self.column, bad_rows)
        given = [(row, value) for row, value in enumerate(values) if value is not MISSING]
        if self.batched:
            results = self._call_batched([value for _, value in given], rows, bad_rows)
        else:
            results = [self._call(value, rows.place(row), bad_rows) for row, value in given]
        return count_results(values, results, rows, bad_rows)

    def _call(self, value: Any, place: str, bad_rows: BadRows) -> Any:
        try:
            return self.function(value)
        except Exception as error:
            bad_rows.add_exception(place, error)
            return MISSING

    def _call_batched(self, values: list[Any], rows: Rows, bad_rows: BadRows) -> list[Any]:
        none: list[Any] = [MISSING] * len(values)
        if not values:
            return none
        place = f"{rows.place(0)} and the {rows.n_samples - 1} after it"
        try:
            result = self.function(values)
        except Exception as error:
            bad_rows.add_exception(place, error)
            return none
        if isinstance(result, Mapping) and "input_ids" in result:
            keys = [key for key in ("input_ids", "labels") if result.get(key) is not None]
            n_results = sorted({len(result[key]) for key in keys})
            # Columns of unlike lengths are refused below.
            rows_of_columns = zip(*(result[key] for key in keys), strict=False)
            results = [dict(zip(keys, row, strict=True)) for row in rows_of_columns]
        else:
            try:
                results = list(result)
            except TypeError:
                bad_rows.add(place, f"{len(values)} results of the tokenizer", describe(result))
                return none
            n_results = [len(results)]
        if n_results != [len(values)]:
            got = " and ".join(map(str, n_results))
            bad_rows.add(place, f"{len(values)} results of the tokenizer", got)
            return none
        return results
