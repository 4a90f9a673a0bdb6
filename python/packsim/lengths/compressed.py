"""Files that are decompressed while they are read."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable
from typing import BinaryIO, cast

from packsim._optional import import_optional

BUFFER_BYTES = 1 << 20


def _plain(path: str) -> BinaryIO:
    return open(path, "rb", buffering=BUFFER_BYTES)


def _zstd(path: str) -> BinaryIO:
    arrow = import_optional("pyarrow", path)
    return io.BufferedReader(arrow.CompressedInputStream(arrow.OSFile(path), "zstd"), BUFFER_BYTES)


# Name of a compression to what opens a file of it.
COMPRESSIONS: dict[str, Callable[[str], BinaryIO]] = {
    "none": _plain,
    "gz": lambda path: cast(BinaryIO, gzip.open(path, "rb")),
    "bz2": lambda path: cast(BinaryIO, bz2.open(path, "rb")),
    "zstd": _zstd,
}


def skip(file: BinaryIO, n_bytes: int) -> None:
    """Goes on by this much; a file that ends before is noticed by whoever reads next."""
    if file.seekable():
        file.seek(n_bytes, io.SEEK_CUR)
        return
    while n_bytes:
        block = file.read(min(n_bytes, BUFFER_BYTES))
        if not block:
            return
        n_bytes -= len(block)
