"""Some neighbouring samples of a source, as they travel to the process that measures them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from packsim._optional import import_optional
from packsim.lengths.bad_rows import BadRows, describe


class _Missing:
    """Stands where a row was bad."""


MISSING = _Missing()


@dataclass(frozen=True)
class SampleRows:
    """Python objects. Rows count from 0."""

    source: str
    first_row: int
    samples: list[Any]

    @property
    def n_samples(self) -> int:
        return len(self.samples)

    def place(self, row: int) -> str:
        return f"{self.source}: row {self.first_row + row}"

    def values(self, column: str | None, bad_rows: BadRows) -> list[Any]:
        """A value a row; MISSING where the row was bad."""
        return [self._value(row, sample, column, bad_rows) for row, sample in enumerate(self.samples)]

    def _value(self, row: int, sample: Any, column: str | None, bad_rows: BadRows) -> Any:
        return value_of(sample, column, self.place(row), bad_rows)


@dataclass(frozen=True)
class LineRows(SampleRows):
    """Lines of JSON, not parsed yet. Places are path:line, counted from 1."""

    def place(self, row: int) -> str:
        return f"{self.source}:{self.first_row + row + 1}"

    def _value(self, row: int, line: bytes, column: str | None, bad_rows: BadRows) -> Any:
        try:
            # A byte order mark belongs to the file, not to its first sample.
            text = line.decode("utf-8-sig" if self.first_row + row == 0 else "utf-8")
            sample = json.loads(text)
        except (ValueError, RecursionError) as error:
            shown = line.strip()
            bad_rows.add(
                self.place(row), "JSON", f"{describe(shown) if shown else 'an empty line'} ({error})"
            )
            return MISSING
        return value_of(sample, column, self.place(row), bad_rows)


@dataclass(frozen=True)
class TableRows:
    """A pyarrow Table. Rows count from 0."""

    source: str
    first_row: int
    table: Any

    @property
    def n_samples(self) -> int:
        return int(self.table.num_rows)

    def place(self, row: int) -> str:
        return f"{self.source}: row {self.first_row + row}"

    def values(self, column: str | None, bad_rows: BadRows) -> list[Any]:
        """A value a row; MISSING where the row was bad."""
        data = self.table if column is None else self.table.column(column)
        try:
            values: list[Any] = data.to_pylist()
        except UnicodeDecodeError:
            values = [self._scalar(column, row, bad_rows) for row in range(self.n_samples)]
        for row, value in enumerate(values):
            if value is None:
                bad_rows.add(self.place(row), f"a value in column {column}", "None")
                values[row] = MISSING
        return values

    def _scalar(self, column: str | None, row: int, bad_rows: BadRows) -> Any:
        try:
            one = self.table.slice(row, 1)
            return (one if column is None else one.column(column)).to_pylist()[0]
        except UnicodeDecodeError as error:
            bad_rows.add(self.place(row), "UTF-8 text", str(error))
            return MISSING

    # A pickled slice takes the whole of its buffers along; Arrow's own format takes the rows alone.
    def __getstate__(self) -> tuple[str, int, bytes]:
        arrow = import_optional("pyarrow", "Arrow data")
        sink = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return self.source, self.first_row, sink.getvalue().to_pybytes()

    def __setstate__(self, state: tuple[str, int, bytes]) -> None:
        arrow = import_optional("pyarrow", "Arrow data")
        with arrow.ipc.open_stream(state[2]) as reader:
            table = reader.read_all()
        for name, value in (("source", state[0]), ("first_row", state[1]), ("table", table)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class EncodedRows(SampleRows):
    """Samples whose columns are bytes, decoded where they are measured. Rows count from 0.

    `decode` gives the value of a column from the columns of a sample; it raises Undecodable. `keys` name the
    samples in the data, where they have names.
    """

    decode: Callable[[str, bytes], Any]
    keys: list[str] | None = None

    def place(self, row: int) -> str:
        return f"{super().place(row)} ({self.keys[row]})" if self.keys else super().place(row)

    def _value(self, row: int, sample: dict[str, bytes], column: str | None, bad_rows: BadRows) -> Any:
        names = sample if column is None else sample.keys() & {column}
        try:
            decoded = {name: self.decode(name, sample[name]) for name in names}
        except Undecodable as mistake:
            bad_rows.add(f"{self.place(row)}: column {mistake.column}", mistake.expected, mistake.got)
            return MISSING
        return value_of(sample | decoded, column, self.place(row), bad_rows)


class Undecodable(ValueError):
    """Bytes that are not what their column says."""

    def __init__(self, column: str, expected: str, got: str) -> None:
        super().__init__(column, expected, got)
        self.column = column
        self.expected = expected
        self.got = got


Rows = SampleRows | TableRows


def value_of(sample: Any, column: str | None, place: str, bad_rows: BadRows) -> Any:
    """The value of one column of a sample, or the sample."""
    if column is None:
        value = sample
    elif not isinstance(sample, Mapping):
        bad_rows.add(place, f"a mapping with {column}", describe(sample))
        return MISSING
    elif column not in sample:
        bad_rows.add(place, f"a column {column}", f"columns {', '.join(map(str, sample)) or 'none'}")
        return MISSING
    else:
        value = sample[column]
    if value is None:
        where = "a sample" if column is None else f"a value in column {column}"
        bad_rows.add(place, where, "None")
        return MISSING
    return value
