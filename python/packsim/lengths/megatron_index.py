"""Lengths from the .idx file of a Megatron-Core indexed data set, without its .bin file.

The format, as megatron/core/datasets/indexed_dataset.py writes it, little-endian:

    magic      9 bytes, MMIDIDX and two zeros
    version    uint64, 1
    type       uint8, code of the type of a token id
    sizes      uint64 number of sequences, uint64 number of document indices (documents + 1)
    lengths    int32 [sequences], tokens of each
    pointers   int64 [sequences], byte of the .bin where each starts
    documents  int64 [documents + 1], the sequence that each starts with, and the number of sequences
    modes      int8 [sequences], in multimodal data sets alone
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packsim._optional import import_optional
from packsim.lengths.arrow_columns import Selection
from packsim.lengths.bad_rows import describe
from packsim.lengths.errors import LengthsError
from packsim.lengths.file_part import FilePart
from packsim.lengths.parts import Chunk, IsWanted, at_random, ranges
from packsim.lengths.rows import Rows, TableRows

_MAGIC = b"MMIDIDX\x00\x00"
_HEAD = struct.Struct("<9sQBQQ")
_VERSION = 1
# Code of a token id's type to its bytes: uint8, int8, int16, int32, int64, float64, float32, uint16.
_ITEM_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 8, 7: 4, 8: 2}
# What is a sample. preprocess_data writes a document for each line of its input, of several sequences with
# --split-sentences alone.
_SAMPLES = ("document", "sequence")
# Sequences or documents that are checked at a time.
_BLOCK = 1 << 18


class _Layout(NamedTuple):
    n_sequences: int
    n_document_indices: int
    item_bytes: int
    pointers_at: int
    documents_at: int


class MegatronIndex(FilePart):
    """Column `document` has the tokens of each document, column `sequence` of each sequence."""

    def __init__(self, path: str, selection: Selection) -> None:
        super().__init__(path, selection)
        self._column = selection.column or "document"

    def _n_samples(self) -> int:
        if self._column == "sequence":
            return self._layout.n_sequences
        return self._layout.n_document_indices - 1

    def _mistakes(self) -> list[str]:
        mistakes = self._selection_mistakes()
        if mistakes:
            return mistakes
        layout = self._layout
        with open(self.place, "rb") as file:
            mistakes, n_bytes = self._sequence_mistakes(file)
            mistakes += self._document_mistakes(file)
        bin_path = f"{self.place.removesuffix('.idx')}.bin"
        if not mistakes and os.path.exists(bin_path) and os.path.getsize(bin_path) != n_bytes:
            mistakes.append(
                f"{bin_path}: expected {n_bytes} bytes, {n_bytes // layout.item_bytes} token ids as its .idx "
                f"says, got {os.path.getsize(bin_path)}"
            )
        return mistakes

    def _chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        arrow = import_optional("pyarrow", self.place)
        with open(self.place, "rb") as file:

            def rows(first_row: int, end_row: int) -> Rows:
                lengths = self._lengths(file, first_row, end_row)
                return TableRows(self.place, first_row, arrow.table({self._column: lengths}))

            yield from at_random(self._n_samples(), chunk_samples, is_wanted, rows)

    def _lengths(self, file: BinaryIO, begin: int, end: int) -> NDArray[Any]:
        if self._column == "sequence":
            return self._read(file, "<i4", _HEAD.size, begin, end)
        bounds = self._read(file, "<i8", self._layout.documents_at, begin, end + 1)
        of_sequences = self._read(file, "<i4", _HEAD.size, int(bounds[0]), int(bounds[-1]))
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(of_sequences, dtype=np.int64)])
        lengths: NDArray[np.int64] = np.diff(before[bounds - bounds[0]])
        return lengths

    @cached_property
    def _layout(self) -> _Layout:
        """Raises LengthsError where the head or the size of the file is wrong."""
        with open(self.place, "rb") as file:
            head = file.read(_HEAD.size)
            n_bytes = os.fstat(file.fileno()).st_size
        if not head.startswith(_MAGIC):
            raise LengthsError(
                f"{self.place}: expected an index of Megatron-Core that starts with {_MAGIC!r}, "
                f"got {describe(head[: len(_MAGIC)])}"
            )
        if len(head) < _HEAD.size:
            raise LengthsError(f"{self.place}: expected a head of {_HEAD.size} bytes, got {len(head)}")
        _, version, code, n_sequences, n_document_indices = _HEAD.unpack(head)
        if version != _VERSION:
            raise LengthsError(f"{self.place}: expected version {_VERSION}, got {version}")
        if code not in _ITEM_BYTES:
            raise LengthsError(f"{self.place}: expected a type code in 1..{max(_ITEM_BYTES)}, got {code}")
        if n_document_indices < 1:
            raise LengthsError(f"{self.place}: expected at least 1 document index, got 0")
        pointers_at = _HEAD.size + 4 * n_sequences
        documents_at = pointers_at + 8 * n_sequences
        end = documents_at + 8 * n_document_indices
        if n_bytes not in (end, end + n_sequences):
            raise LengthsError(
                f"{self.place}: expected {end} bytes for {n_sequences} sequences and "
                f"{n_document_indices - 1} documents, or {end + n_sequences} with modes, got {n_bytes}"
            )
        return _Layout(n_sequences, n_document_indices, _ITEM_BYTES[code], pointers_at, documents_at)

    def _selection_mistakes(self) -> list[str]:
        mistakes = []
        if self._column not in _SAMPLES:
            mistakes.append(
                f"{self.place}: expected column to be {' or '.join(_SAMPLES)}, got {self._column}"
            )
        if self._selection.wants != "tokens":
            mistakes.append(f"{self.place}: expected no tokenizer, as the index counts token ids, got one")
        if self._selection.labels_column is not None:
            mistakes.append(
                f"{self.place}: expected no labels_column, as the index knows no labels, "
                f"got {self._selection.labels_column}"
            )
        return mistakes

    def _sequence_mistakes(self, file: BinaryIO) -> tuple[list[str], int]:
        """And the bytes that the .bin has. Each pointer is behind the sequence before it."""
        layout = self._layout
        at = 0
        for _, begin, end in ranges(layout.n_sequences, _BLOCK):
            lengths = self._read(file, "<i4", _HEAD.size, begin, end)
            pointers = self._read(file, "<i8", layout.pointers_at, begin, end)
            if lengths.min() < 0:
                row = int(np.argmax(lengths < 0))
                return [f"{self.place}: sequence {begin + row}: expected a length, got {lengths[row]}"], at
            ends = at + np.cumsum(lengths, dtype=np.int64) * layout.item_bytes
            expected = np.concatenate([np.array([at], np.int64), ends[:-1]])
            if not np.array_equal(pointers, expected):
                row = int(np.argmax(pointers != expected))
                return [
                    f"{self.place}: sequence {begin + row}: expected pointer {expected[row]}, where the "
                    f"sequences before it end, got {pointers[row]}"
                ], at
            at = int(ends[-1])
        return [], at

    def _document_mistakes(self, file: BinaryIO) -> list[str]:
        """Documents start at sequence 0, never go back, and end with the last sequence."""
        layout = self._layout
        before = 0
        for _, begin, end in ranges(layout.n_document_indices, _BLOCK):
            starts = self._read(file, "<i8", layout.documents_at, begin, end)
            if begin == 0 and starts[0] != 0:
                return [f"{self.place}: document 0: expected to start at sequence 0, got {starts[0]}"]
            goes_back = np.diff(starts, prepend=before) < 0
            if goes_back.any():
                row = int(np.argmax(goes_back))
                earlier = starts[row - 1] if row else before
                return [
                    f"{self.place}: document {begin + row}: expected to start at sequence {earlier} or "
                    f"later, got {starts[row]}"
                ]
            before = int(starts[-1])
        if before != layout.n_sequences:
            return [
                f"{self.place}: expected documents that end with sequence {layout.n_sequences}, got {before}"
            ]
        return []

    def _read(self, file: BinaryIO, dtype: str, at: int, begin: int, end: int) -> NDArray[Any]:
        file.seek(at + begin * np.dtype(dtype).itemsize)
        values: NDArray[Any] = np.fromfile(file, dtype, end - begin)
        if len(values) != end - begin:
            raise LengthsError(
                f"{self.place}: expected a file that stays as it is, got a shorter one meanwhile"
            )
        return values
