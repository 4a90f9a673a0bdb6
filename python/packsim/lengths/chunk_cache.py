"""Measured chunks on disk: complete or absent, and never those of other data.

A folder holds the chunks of one part under one tokenizer; its name is the SHA-256 of what identifies them.
A chunk is written beside its place and renamed into it, so a killed run leaves whole chunks and any number
of processes may share the folder: they write the same bytes. The disk is not waited for: what a power cut
tears is found by its checksum.
"""

from __future__ import annotations

import hashlib
import os
import struct
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packsim._loss_spans import LossSpans
from packsim._whole_file import remove_leftovers, whole_file
from packsim.lengths.errors import CacheWarning
from packsim.lengths.measured import Measured
from packsim.lengths.result import LONGEST_TOKENS

# Changes whenever the same data may give other lengths or chunks other bytes.
FORMAT = 2

_MAGIC = b"packsim1"
_HEAD = struct.Struct("<QQB")  # number of samples, number of loss spans, whether there are any to know
_DIGEST_BYTES = 32


class ChunkCache:
    """The chunks of one part."""

    def __init__(self, folder: str | os.PathLike[str], identity: list[str]) -> None:
        text = "\0".join([str(FORMAT), *identity])
        self._key = hashlib.sha256(text.encode()).digest()
        self.folder = Path(folder) / self._key.hex()
        self.corrupt: set[str] = set()  # names of damaged files

    def open(self) -> None:
        """Raises OSError where the folder cannot be made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.folder)

    def load(self, index: int) -> Measured | None:
        """The chunk, or None where there is none, or only a damaged one: that is counted and warned of."""
        name = f"{index:08d}.chunk"
        payload = self._read(name)
        return None if payload is None else _unpacked(payload, f"{self.folder / name}")

    def store(self, index: int, measured: Measured) -> None:
        self._write(f"{index:08d}.chunk", _packed(measured))

    def n_chunks(self) -> int | None:
        """Once every chunk has been stored."""
        payload = self._read("complete")
        return None if payload is None else int.from_bytes(payload, "little")

    def store_n_chunks(self, n_chunks: int) -> None:
        self._write("complete", n_chunks.to_bytes(8, "little"))

    def _digest(self, name: str, payload: bytes) -> bytes:
        """Returns a digest of the bytes and where they belong."""
        return hashlib.sha256(self._key + name.encode() + b"\0" + payload).digest()

    def _read(self, name: str) -> bytes | None:
        path = self.folder / name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        head = len(_MAGIC) + _DIGEST_BYTES
        payload = content[head:]
        if content[:head] == _MAGIC + self._digest(name, payload):
            return payload
        if name not in self.corrupt:
            self.corrupt.add(name)
            message = f"{path}: expected a whole chunk, got a damaged one; it is measured again"
            warnings.warn(message, CacheWarning, stacklevel=2)
        return None

    def _write(self, name: str, payload: bytes) -> None:
        with whole_file(self.folder / name, durable=False) as file:
            file.write(_MAGIC + self._digest(name, payload) + payload)


def _packed(measured: Measured) -> bytes:
    """Head, lengths and, with labels, the number of spans of each sample, begins and ends; all int32."""
    arrays = [measured.lengths_tokens]
    n_spans = 0
    spans = measured.loss_spans
    if spans is not None:
        n_spans = len(spans.begins)
        arrays += [np.diff(spans.offsets).astype(np.int32), spans.begins, spans.ends]
    head = _HEAD.pack(len(measured.lengths_tokens), n_spans, spans is not None)
    return head + b"".join(array.astype("<i4").tobytes() for array in arrays)


def _unpacked(payload: bytes, place: str) -> Measured:
    n_samples, n_spans, has_loss = _HEAD.unpack_from(payload)
    values: NDArray[np.int32] = np.frombuffer(payload, "<i4", offset=_HEAD.size).astype(np.int32)
    lengths_tokens = values[:n_samples]
    assert lengths_tokens.max(initial=0) <= LONGEST_TOKENS
    if not has_loss:
        assert len(values) == n_samples
        return Measured(lengths_tokens, None, place=place)
    counts, begins, ends = np.split(values[n_samples:], [n_samples, n_samples + n_spans])
    assert len(ends) == n_spans
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
    return Measured(lengths_tokens, LossSpans(offsets, begins, ends), place=place)
