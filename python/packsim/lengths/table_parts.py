"""Parts that Arrow reads: tables and readers in memory, .parquet, .arrow and .csv files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from packsim._optional import import_optional
from packsim.lengths.arrow_columns import Selection, schema_mistakes
from packsim.lengths.parts import Chunk, IsWanted, cut, ranges
from packsim.lengths.rows import TableRows

# Parquet pages come through a buffer of this size, and none are fetched ahead: with only one of these,
# pyarrow holds a column of a whole row group.
_PARQUET_BUFFER_BYTES = 1 << 20
# The longest CSV record that can be read.
_CSV_BLOCK_BYTES = 64 << 20


def _rows(place: str, selection: Selection, cut_pieces: Iterator[tuple[int, int, Any]]) -> Iterator[Chunk]:
    arrow = import_optional("pyarrow", "Arrow data")
    for index, first_row, pieces in cut_pieces:
        if pieces is None:
            yield index, None
            continue
        table = arrow.Table.from_batches(pieces)
        if selection.columns is not None:
            table = table.select(selection.columns)
        yield index, TableRows(place, first_row, table)


@dataclass(frozen=True)
class TablePart:
    """A `pyarrow.Table` or `RecordBatch`."""

    table: Any
    selection: Selection
    place: str = "table"

    @property
    def n_samples(self) -> int | None:
        return int(self.table.num_rows)

    def mistakes(self) -> list[str]:
        return schema_mistakes(self.table.schema, self.selection, self.place)

    def identity(self) -> str | None:
        return None

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        table = self.table if self.selection.columns is None else self.table.select(self.selection.columns)
        for index, first_row, end_row in ranges(table.num_rows, chunk_samples):
            wanted = is_wanted(index)
            slice_ = table.slice(first_row, end_row - first_row) if wanted else None
            yield index, TableRows(self.place, first_row, slice_) if wanted else None


@dataclass(frozen=True)
class ReaderPart:
    """A `pyarrow.RecordBatchReader`, which is read once."""

    reader: Any
    selection: Selection
    place: str = "record batches"
    n_samples: int | None = None

    def mistakes(self) -> list[str]:
        return schema_mistakes(self.reader.schema, self.selection, self.place)

    def identity(self) -> str | None:
        return None

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        pieces = ((batch.num_rows, batch) for batch in self.reader)
        yield from _rows(self.place, self.selection, cut(pieces, chunk_samples, is_wanted))


class ParquetFile:
    """Row groups without a wanted chunk are not read."""

    def __init__(self, path: str, selection: Selection) -> None:
        self.place = path
        self._selection = selection

    @cached_property
    def _metadata(self) -> Any:
        return import_optional("pyarrow.parquet", self.place).read_metadata(self.place)

    @property
    def n_samples(self) -> int | None:
        return int(self._metadata.num_rows)

    def mistakes(self) -> list[str]:
        return schema_mistakes(self._metadata.schema.to_arrow_schema(), self._selection, self.place)

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        parquet = import_optional("pyarrow.parquet", self.place)
        options = {"buffer_size": _PARQUET_BUFFER_BYTES, "pre_buffer": False}
        with parquet.ParquetFile(self.place, page_checksum_verification=True, **options) as file:
            pieces = self._pieces(file, chunk_samples, is_wanted)
            yield from _rows(self.place, self._selection, cut(pieces, chunk_samples, is_wanted))

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
                for batch in batches:
                    yield batch.num_rows, batch
            else:
                yield n_rows, None
            first_row += n_rows


class ArrowFile:
    """An Arrow IPC file or stream, mapped into memory."""

    n_samples: int | None = None

    def __init__(self, path: str, selection: Selection) -> None:
        self.place = path
        self._selection = selection

    def _open(self, mapped: Any) -> Any:
        ipc = import_optional("pyarrow.ipc", self.place)
        is_file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        return ipc.open_file(mapped) if is_file else ipc.open_stream(mapped)

    def mistakes(self) -> list[str]:
        arrow = import_optional("pyarrow", self.place)
        with arrow.memory_map(self.place) as mapped, self._open(mapped) as reader:
            return schema_mistakes(reader.schema, self._selection, self.place)

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        arrow = import_optional("pyarrow", self.place)
        with arrow.memory_map(self.place) as mapped, self._open(mapped) as reader:
            pieces = ((batch.num_rows, batch) for batch in self._batches(reader))
            yield from _rows(self.place, self._selection, cut(pieces, chunk_samples, is_wanted))

    @staticmethod
    def _batches(reader: Any) -> Iterator[Any]:
        if hasattr(reader, "num_record_batches"):
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)
        else:
            yield from reader


class CsvFile:
    """A CSV file with a header; every column is text."""

    n_samples: int | None = None

    def __init__(self, path: str, selection: Selection) -> None:
        self.place = path
        self._selection = selection

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

    def mistakes(self) -> list[str]:
        with self._open(self._header()) as reader:
            return schema_mistakes(reader.schema, self._selection, self.place)

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        with self._open(self._header()) as reader:
            pieces = ((batch.num_rows, batch) for batch in reader)
            yield from _rows(self.place, self._selection, cut(pieces, chunk_samples, is_wanted))
