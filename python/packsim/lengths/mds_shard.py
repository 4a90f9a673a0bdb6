"""A shard of a MosaicML streaming data set (MDS, version 2).

The format, as streaming/base/format/mds/writer.py writes it, little-endian:

    samples    uint32
    offsets    uint32 [samples + 1], byte of the shard where each sample starts, and its end
    columns    JSON with column_names, column_encodings and column_sizes
    sample     uint32 for each column without a fixed size: its bytes; then the bytes of all columns
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from packsim.lengths.arrow_columns import Selection, wanted_columns
from packsim.lengths.compressed import BUFFER_BYTES, COMPRESSIONS, skip
from packsim.lengths.encoded_columns import column_mistakes
from packsim.lengths.errors import LengthsError
from packsim.lengths.file_part import FilePart
from packsim.lengths.mds_encodings import MdsDecoder, kind_of
from packsim.lengths.parts import Chunk, IsWanted, ranges
from packsim.lengths.rows import EncodedRows


@dataclass(frozen=True)
class MdsColumns:
    """`sizes` in bytes; None for those that each sample tells."""

    names: list[str]
    encodings: list[str]
    sizes: list[int | None]

    @property
    def encoding_of(self) -> dict[str, str]:
        return dict(zip(self.names, self.encodings, strict=True))


@dataclass(frozen=True)
class MdsFile:
    """A shard as the index describes it.

    `compression` is a name of COMPRESSIONS, and `n_bytes` and `hashes` are those of the file; `raw_bytes` of
    the shard in it.
    """

    path: str
    columns: MdsColumns
    n_samples: int
    compression: str
    n_bytes: int
    raw_bytes: int
    hashes: dict[str, str]


class MdsShard(FilePart):
    """Samples are read one after another, so that a compressed shard need not be unpacked before."""

    def __init__(self, file: MdsFile, index_path: str, selection: Selection) -> None:
        super().__init__(file.path, selection)
        self._file = file
        self._index_path = index_path
        self._told = struct.Struct(f"<{file.columns.sizes.count(None)}I")
        # A function that asks a whole sample for a pickle finds none, instead of bytes that it may count.
        loadable = [
            name for name, encoding in file.columns.encoding_of.items() if kind_of(encoding) != "pickle"
        ]
        self._wanted = set(loadable if selection.columns is None else selection.columns)

    def _n_samples(self) -> int:
        return self._file.n_samples

    def _mistakes(self) -> list[str]:
        n_bytes = os.path.getsize(self.place)
        if n_bytes != self._file.n_bytes:
            return [f"{self.place}: expected {self._file.n_bytes} bytes, as its index says, got {n_bytes}"]
        return self._selection_mistakes()

    def _selection_mistakes(self) -> list[str]:
        encodings = self._file.columns.encoding_of
        place, selection = self._index_path, self._selection
        mistakes: list[str] = []
        for name in wanted_columns(list(encodings), selection, place, mistakes):
            mistakes += column_mistakes(name, kind_of(encodings[name]), encodings[name], selection, place)
        return mistakes

    def _chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        self._check_hashes()
        decode = MdsDecoder(self._file.columns.encoding_of, self._selection.wants)
        with COMPRESSIONS[self._file.compression](self.place) as file:
            offsets = self._offsets(file)
            for index, first_row, end_row in ranges(self._file.n_samples, chunk_samples):
                bounds = offsets[first_row : end_row + 1].tolist()
                n_bytes = bounds[-1] - bounds[0]
                if not is_wanted(index):
                    skip(file, n_bytes)
                    yield index, None
                    continue
                content = self._read(file, n_bytes)
                samples = [
                    self._columns(content[begin - bounds[0] : end - bounds[0]], first_row + row)
                    for row, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:], strict=True))
                ]
                yield index, EncodedRows(self.place, first_row, samples, decode)

    def _columns(self, sample: bytes, row: int) -> dict[str, bytes]:
        columns = self._file.columns
        at = self._told.size
        if len(sample) >= at:
            told = iter(self._told.unpack_from(sample))
            sizes = [next(told) if size is None else size for size in columns.sizes]
            if at + sum(sizes) == len(sample):
                found = {}
                for name, size in zip(columns.names, sizes, strict=True):
                    if name in self._wanted:
                        found[name] = sample[at : at + size]
                    at += size
                return found
            at += sum(sizes)
        raise LengthsError(f"{self.place}: row {row}: expected a sample of {at} bytes, got {len(sample)}")

    def _offsets(self, file: BinaryIO) -> NDArray[np.uint32]:
        """Reads on to the first sample."""
        n_samples = self._file.n_samples
        (found,) = struct.unpack("<I", self._read(file, 4))
        if found != n_samples:
            raise LengthsError(f"{self.place}: expected {n_samples} samples, as its index says, got {found}")
        offsets: NDArray[np.uint32] = np.frombuffer(self._read(file, 4 * (n_samples + 1)), "<u4")
        head = 4 + 4 * (n_samples + 1)
        if offsets[0] < head or offsets[-1] != self._file.raw_bytes:
            raise LengthsError(
                f"{self.place}: expected offsets from at least {head} to {self._file.raw_bytes}, "
                f"got {offsets[0]} to {offsets[-1]}"
            )
        falls = offsets[1:] < offsets[:-1]
        if falls.any():
            row = int(np.argmax(falls))
            begin, end = offsets[row : row + 2].tolist()
            raise LengthsError(
                f"{self.place}: row {row}: expected an end behind its start {begin}, got {end}"
            )
        self._check_columns(self._read(file, int(offsets[0]) - head))
        return offsets

    def _check_columns(self, text: bytes) -> None:
        columns = self._file.columns
        expected = {
            "column_names": columns.names,
            "column_encodings": columns.encodings,
            "column_sizes": columns.sizes,
        }
        try:
            found = json.loads(text)
            found = {key: found[key] for key in expected}
        except (ValueError, TypeError, KeyError) as error:
            raise LengthsError(f"{self.place}: expected JSON of its columns, got {error!r}") from error
        for key, value in expected.items():
            if found[key] != value:
                raise LengthsError(
                    f"{self.place}: {key}: expected {value}, as its index says, got {found[key]}"
                )

    def _read(self, file: BinaryIO, n_bytes: int) -> bytes:
        content = file.read(n_bytes)
        if len(content) != n_bytes:
            raise LengthsError(
                f"{self.place}: expected a shard of {self._file.raw_bytes} bytes, got one that ends before"
            )
        return content

    def _check_hashes(self) -> None:
        """Those of algorithms that Python knows; xxhash is none of them."""
        known = {name: hashlib.new(name) for name in self._file.hashes if name in _HASHES}
        if not known:
            return
        with open(self.place, "rb") as file:
            while block := file.read(BUFFER_BYTES):
                for digest in known.values():
                    digest.update(block)
        for name, digest in known.items():
            if digest.hexdigest() != self._file.hashes[name]:
                raise LengthsError(
                    f"{self.place}: expected {name} {self._file.hashes[name]}, as its index says, "
                    f"got {digest.hexdigest()}"
                )


_HASHES = {name for name in hashlib.algorithms_guaranteed if not name.startswith("shake_")}
