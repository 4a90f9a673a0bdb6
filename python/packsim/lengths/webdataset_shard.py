"""A WebDataset shard: a .tar whose neighbouring files of one key are the columns of a sample."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, BinaryIO, cast

import numpy as np

from packsim.lengths.arrow_columns import Selection, Wants
from packsim.lengths.compressed import COMPRESSIONS
from packsim.lengths.encoded_columns import Kind, column_mistakes, decoded_array, decoded_json, decoded_text
from packsim.lengths.errors import LengthsError
from packsim.lengths.file_part import FilePart
from packsim.lengths.parts import Chunk, IsWanted
from packsim.lengths.rows import EncodedRows, Undecodable

# Names are split as webdataset/tariterators.py does: the key ends at the first dot of the file's own name,
# and the rest, in lower case, names the column. Other files, and those of metadata, belong to no sample.
_NAME = re.compile(r"((?:.*/|)[^.]+)[.]([^/]*)")
_METADATA = re.compile(r"__[^/]*__($|/)")

_KINDS: dict[str, Kind] = {
    "txt": "text",
    "text": "text",
    "transcript": "text",
    "json": "json",
    "jsn": "json",
    "npy": "array",
    "pickle": "pickle",
    "pkl": "pickle",
    "pyd": "pickle",
    "pth": "pickle",
    "pt": "pickle",
}


def kind_of(column: str) -> Kind:
    """Tells the kind of a column by the last part of its extension. `json/KEY` is what the key holds."""
    return _KINDS.get(column.partition("/")[0].rpartition(".")[2], "bytes")


@dataclass(frozen=True)
class WebDatasetDecoder:
    """Decodes columns by their extensions."""

    wants: Wants

    def __call__(self, name: str, content: bytes) -> Any:
        kind = kind_of(name)
        if kind == "text":
            return decoded_text(name, content)
        if kind == "json":
            return _json(name, content)
        if kind == "array":
            return _npy(name, content, self.wants)
        return content


def _json(name: str, content: bytes) -> Any:
    value = decoded_json(name, content)
    _, slash, key = name.partition("/")
    if not slash:
        return value
    if not isinstance(value, dict) or key not in value:
        got = f"keys {', '.join(value) or 'none'}" if isinstance(value, dict) else type(value).__name__
        raise Undecodable(name, f"an object with {key}", got)
    return value[key]


def _npy(name: str, content: bytes, wants: Wants) -> Any:
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read_head = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read_head(file)
    except (ValueError, KeyError, EOFError) as error:
        raise Undecodable(name, "a NumPy file", str(error)) from error
    if dtype.hasobject:
        raise Undecodable(name, "numbers", "Python objects, whose code would run while they are read")
    return decoded_array(name, memoryview(content)[file.tell() :], dtype, shape, wants)


class WebDatasetShard(FilePart):
    """Files of columns that are not measured are passed over. `n_samples` where an index tells."""

    def __init__(self, path: str, selection: Selection, n_samples: int | None = None) -> None:
        super().__init__(path, selection)
        self._n_expected = n_samples

    def _n_samples(self) -> int | None:
        return self._n_expected

    def _mistakes(self) -> list[str]:
        """Returns the mistakes of the column's name alone, the same for all shards."""
        selection = self._selection
        if selection.column is None and selection.wants != "anything":
            return [
                "column: expected an extension of the files in a sample, such as txt or json/text, got None"
            ]
        mistakes = []
        for name in selection.columns or []:
            kind = kind_of(name)
            if "/" in name and kind != "json":
                mistakes.append(f"WebDataset: column {name}: expected json/KEY, got another extension")
            else:
                mistakes += column_mistakes(name, kind, name, selection, "WebDataset")
        return mistakes

    def _chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        with self._open() as file:
            samples = _samples(self.place, file, self._selection.columns)
            index = n_found = 0
            decode = WebDatasetDecoder(self._selection.wants)
            while chunk := list(islice(samples, chunk_samples)):
                rows = None
                if is_wanted(index):
                    keys, columns = [key for key, _ in chunk], [sample for _, sample in chunk]
                    rows = EncodedRows(self.place, index * chunk_samples, columns, decode, keys)
                yield index, rows
                index += 1
                n_found += len(chunk)
        if self._n_expected not in (None, n_found):
            raise LengthsError(
                f"{self.place}: expected {self._n_expected} samples, as its index says, got {n_found}"
            )

    def _open(self) -> BinaryIO:
        return COMPRESSIONS["gz" if self.place.endswith("gz") else "none"](self.place)


def _samples(place: str, file: BinaryIO, columns: list[str] | None) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Keys of samples, and their wanted columns; of a sample that lacks one, the names of all."""
    current_key: str | None = None
    found: dict[str, bytes] = {}
    wanted = None if columns is None else {column.partition("/")[0] for column in columns}
    for name, extract in _members(place, file):
        match = _NAME.fullmatch(name)
        if match is None or _METADATA.match(name):
            continue
        key, extension = match[1], match[2].lower()
        if key != current_key:
            if current_key is not None:
                yield current_key, _selected(found, columns)
            current_key, found = key, {}
        if extension in found:
            raise LengthsError(f"{place}: expected one file {name} in a sample, got two")
        is_wanted = extension in wanted if wanted is not None else kind_of(extension) != "pickle"
        found[extension] = extract() if is_wanted else b""
    if current_key is not None:
        yield current_key, _selected(found, columns)


def _selected(found: dict[str, bytes], columns: list[str] | None) -> dict[str, bytes]:
    if columns is None:
        # A function that asks for a pickle finds none, instead of bytes that it may count.
        return {name: content for name, content in found.items() if kind_of(name) != "pickle"}
    extensions = {column: column.partition("/")[0] for column in columns}
    selected = {column: found[extension] for column, extension in extensions.items() if extension in found}
    return selected if len(selected) == len(columns) else dict.fromkeys(found, b"") | selected


def _members(place: str, file: BinaryIO) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Names of the regular files of a .tar, and what reads them.

    tarfile takes a damaged or missing head for the end of the archive, which is a block of zeros.
    """
    watched = _LastRead(file)
    with tarfile.open(fileobj=cast(BinaryIO, watched), mode="r:") as tar:
        while (member := tar.next()) is not None:
            cast(Any, tar).members.clear()  # else they stay in memory until the end
            if member.isreg():
                yield member.name, partial(_content, place, tar, member)
    if watched.last != bytes(tarfile.BLOCKSIZE):
        got = "a damaged head of a file" if watched.last else "none"
        raise LengthsError(f"{place}: expected a block of zeros at the end of the archive, got {got}")


def _content(place: str, tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    extracted = tar.extractfile(member)
    assert extracted is not None  # it is a regular file
    content = extracted.read()
    if len(content) != member.size:
        raise LengthsError(f"{place}: {member.name}: expected {member.size} bytes, got {len(content)}")
    return content


class _LastRead:
    """Keeps what was read last."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.last = b""

    def read(self, n_bytes: int) -> bytes:
        self.last = self._file.read(n_bytes)
        return self.last

    def seek(self, at: int) -> int:
        return self._file.seek(at)

    def tell(self) -> int:
        return self._file.tell()
