"""Files that are either whole or not there, and that tell when they were damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._whole_file import whole_file, write_whole
from packsim.sharded.errors import DamagedFileError

_ALIGNMENT_BYTES = 64
_READ_BYTES = 1 << 20


def write_arrays(folder: Path, name: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Writes arrays into one file, whose name ends with the checksum of its content, and describes it.

    The description has `name`, `size_bytes`, `checksum`, and for each array `dtype`, `begin_bytes` and
    `n_elements`; `map_arrays()` reads it. Who writes the same arrays again replaces the file by an equal one.
    """
    described: dict[str, Any] = {}
    parts: list[Any] = []
    size_bytes = 0
    for key, array in arrays.items():
        content = np.ascontiguousarray(array).view(np.uint8).data
        padding = bytes(-len(content) % _ALIGNMENT_BYTES)
        described[key] = {"dtype": array.dtype.str, "begin_bytes": size_bytes, "n_elements": len(array)}
        parts += [content, padding]
        size_bytes += len(content) + len(padding)
    sums = hashlib.blake2b(digest_size=16)
    for part in parts:
        sums.update(part)
    file_name = f"{name}.{sums.hexdigest()[:16]}.packs"
    with whole_file(folder / file_name) as file:
        file.writelines(parts)
    return {
        "name": file_name,
        "size_bytes": size_bytes,
        "checksum": sums.hexdigest(),
        "arrays": described,
    }


def map_arrays(folder: Path, file: Mapping[str, Any], verify: bool = True) -> dict[str, NDArray[Any]]:
    """Views of the mapped file; `verify` reads all of it once.

    Raises
    ------
    DamagedFileError
        Where the file is missing, or its size or checksum is another one.
    """
    path = folder / file["name"]
    check_size(folder, file)
    if verify:
        found = _checksum_of_file(path)
        if found != file["checksum"]:
            raise DamagedFileError(f"{path}: expected checksum {file['checksum']}, got {found}")
    content: NDArray[Any] = np.memmap(path, dtype=np.uint8, mode="r")
    arrays = {}
    for key, array in file["arrays"].items():
        dtype = np.dtype(array["dtype"])
        begin = array["begin_bytes"]
        arrays[key] = content[begin : begin + array["n_elements"] * dtype.itemsize].view(dtype)
    return arrays


def _checksum_of_file(path: Path) -> str:
    """Read, not mapped: pages that are mapped count as memory of the process."""
    sums = hashlib.blake2b(digest_size=16)
    with open(path, "rb", buffering=0) as file:
        while part := file.read(_READ_BYTES):
            sums.update(part)
    return sums.hexdigest()


def check_size(folder: Path, file: Mapping[str, Any]) -> None:
    """DamagedFileError unless the file is there, with as many bytes as were written."""
    path = folder / file["name"]
    try:
        size_bytes = path.stat().st_size
    except FileNotFoundError:
        raise DamagedFileError(f"{path}: expected a file of {file['size_bytes']} bytes, found none") from None
    if size_bytes != file["size_bytes"]:
        raise DamagedFileError(f"{path}: expected {file['size_bytes']} bytes, got {size_bytes}")


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Writes JSON with its checksum. Who reads the path sees what was there before, or all of the new one."""
    whole = json.dumps({"checksum": record_checksum(record), "record": record}, indent=1).encode()
    write_whole(path, whole)


def read_record(path: Path) -> dict[str, Any]:
    """What `write_record()` wrote.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    DamagedFileError
        Where it is not what was written.
    """
    content = path.read_bytes()
    try:
        whole = json.loads(content)
        record: dict[str, Any] = whole["record"]
        expected = whole["checksum"]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{path}: expected a record of packsim.sharded, got {error!r:.80}") from error
    found = record_checksum(record)
    if found != expected:
        raise DamagedFileError(f"{path}: expected checksum {expected}, got {found}")
    return record


def record_checksum(record: object) -> str:
    """32 hexadecimal digits of the values, however they are written."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
