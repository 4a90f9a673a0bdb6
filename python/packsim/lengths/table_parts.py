"""Parts that Arrow reads: tables and readers in memory, .parquet, .arrow and .csv files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from packsim._optional import import_optional
from packsim.lengths.arrow_columns import Selection, schema_mistakes
from packsim.lengths.file_part import FilePart
from packsim.lengths.parts import Chunk, IsWanted, Part, at_random
from packsim.lengths.rows import Rows, TableRows

# Parquet pages come through a buffer of this size, and none are fetched ahead: with only one of these,
# pyarrow holds a column of a whole row group.
_PARQUET_BUFFER_BYTES = 1 << 20
# The longest CSV record that can be read.
_CSV_BLOCK_BYTES = 64 << 20


def _cut(
    place: str,
    selection: Selection,
    pieces: Iterable[tuple[int, Any]],
    chunk_samples: int,
    is_wanted: IsWanted,
) -> Iterator[Chunk]:
    """Cuts record batches at the boundaries of chunks.

    pieces: number of rows, and a batch; None where no chunk in it is wanted.
    """
    index = filled = 0
    kept: list[Any] | None = [] if is_wanted(0) else None

    def chunk() -> Chunk:
        if kept is None:
            return index, None
        table = import_optional("pyarrow", "Arrow data").Table.from_batches(kept)
        return index, TableRows(place, index * chunk_samples, _selected(table, selection))

    for n_rows, batch in pieces:
        at = 0
        while at < n_rows:
            n_taken = min(n_rows - at, chunk_samples - filled)
            if kept is not None:
                kept.append(batch.slice(at, n_taken))
            at += n_taken
            filled += n_taken
            if filled == chunk_samples:
                yield chunk()
                index, filled = index + 1, 0
                kept = [] if is_wanted(index) else None
    if filled:
        yield chunk()


def _selected(table: Any, selection: Selection) -> Any:
    return table if selection.columns is None else table.select(selection.columns)


def _pieces(batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    return ((batch.num_rows, batch) for batch in batches)


@dataclass(frozen=True)
class TablePart(Part):
    """A `pyarrow.Table` or `RecordBatch`."""

    table: Any
    selection: Selection
    place: str = "table"

    @property
    def n_samples(self) -> int | None:
        return int(self.table.num_rows)

    def mistakes(self) -> list[str]:
        return schema_mistakes(self.table.schema, self.selection, self.place)

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        table = _selected(self.table, self.selection)

        def rows(first_row: int, end_row: int) -> Rows:
            return TableRows(self.place, first_row, table.slice(first_row, end_row - first_row))

        return at_random(table.num_rows, chunk_samples, is_wanted, rows)


@dataclass(frozen=True)
class ReaderPart(Part):
    """A `pyarrow.RecordBatchReader`, which is read once."""

    reader: Any
    selection: Selection
    place: str = "record batches"
    n_samples: int | None = None

    def mistakes(self) -> list[str]:
        return schema_mistakes(self.reader.schema, self.selection, self.place)

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        return _cut(self.place, self.selection, _pieces(self.reader), chunk_samples, is_wanted)


class ParquetFile(FilePart):
    """Row groups without a wanted chunk are not read."""

    @cached_property
    def _metadata(self) -> Any:
        return import_optional("pyarrow.parquet", self.place).read_metadata(self.place)

    def _n_samples(self) -> int | None:
        return int(self._metadata.num_rows)

    def _mistakes(self) -> list[str]:
        return schema_mistakes(self._metadata.schema.to_arrow_schema(), self._selection, self.place)

    def _chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        parquet = import_optional("pyarrow.parquet", self.place)
        options = {"buffer_size": _PARQUET_BUFFER_BYTES, "pre_buffer": False}
        with parquet.ParquetFile(self.place, page_checksum_verification=True, **options) as file:
            pieces = self._pieces(file, chunk_samples, is_wanted)
            yield from _cut(self.place, self._selection, pieces, chunk_samples, is_wanted)

    def _pieces(self, file: Any, chunk_samples: int, is_wanted: IsWanted) -> Iterator[tuple[int, Any]]:
        first_row = 0
        for group in range(file.num_row_groups):
            n_rows = file.metadata.row_group(group).num_rows
            last_row = first_row + n_rows - 1
            of_group = range(first_row // chunk_samples, last_row // chunk_samples + 1)
            if n_rows and any(is_wanted(index) for index in of_group):
                batches = file.iter_batches(
                    batch_size=chunk_samples, row_groups=[group], columns=self._selection.columns
                )
                yield from _pieces(batches)
            else:
                yield n_rows, None
            first_row += n_rows


class _BatchFile(FilePart):
    """A file that is read one record batch after another."""

    @abstractmethod
    def _opened(self) -> AbstractContextManager[tuple[Any, Iterable[Any]]]:
        """Schema and batches."""

    def _mistakes(self) -> list[str]:
        with self._opened() as (schema, _):
            return schema_mistakes(schema, self._selection, self.place)

    def _chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        with self._opened() as (_, batches):
            yield from _cut(self.place, self._selection, _pieces(batches), chunk_samples, is_wanted)


class ArrowFile(_BatchFile):
    """An Arrow IPC file or stream, mapped into memory."""

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Iterable[Any]]]:
        arrow = import_optional("pyarrow", self.place)
        ipc = import_optional("pyarrow.ipc", self.place)
        with arrow.memory_map(self.place) as mapped:
            is_file = mapped.read(6) == b"ARROW1"
            mapped.seek(0)
            with ipc.open_file(mapped) if is_file else ipc.open_stream(mapped) as reader:
                yield (
                    reader.schema,
                    map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader,
                )


class CsvFile(_BatchFile):
    """A CSV file with a header; every column is text."""

    def _open(self, names: list[str]) -> Any:
        arrow = import_optional("pyarrow", self.place)
        csv = import_optional("pyarrow.csv", self.place)
        return csv.open_csv(
            self.place,
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK_BYTES, use_threads=False),
            # An empty line is an empty text where there is one column, and else a mistake.
            parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types={name: arrow.string() for name in names}, strings_can_be_null=False
            ),
        )

    def _header(self) -> list[str]:
        with self._open([]) as reader:
            names: list[str] = reader.schema.names
        return names

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Iterable[Any]]]:
        with self._open(self._header()) as reader:
            yield reader.schema, reader
