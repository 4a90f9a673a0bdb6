"""A file as a part of a source, and what identifies it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Any

from packsim.lengths.errors import LengthsError
from packsim.lengths.parts import Chunk, IsWanted

_HASHED_BLOCK_BYTES = 1 << 20


class FilePart:
    """A file that must stay as it is while it is read."""

    def __init__(self, path: str, reader: Any) -> None:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise LengthsError(f"{path}: expected a regular file, got another kind")
        self.place = path
        self._reader = reader
        self._state = self._now()

    @property
    def n_samples(self) -> int | None:
        with _Reading(self.place):
            n_samples: int | None = self._reader.n_samples
            return n_samples

    def mistakes(self) -> list[str]:
        try:
            with _Reading(self.place):
                mistakes: list[str] = self._reader.mistakes()
                return mistakes
        except LengthsError as error:
            return [str(error)]

    def identity(self) -> str | None:
        """The SHA-256 of its bytes: a moved or copied file is the same one, an edited one never is."""
        digest = hashlib.sha256()
        with open(self.place, "rb") as file:
            while block := file.read(_HASHED_BLOCK_BYTES):
                digest.update(block)
        self._check_unchanged()
        # The ending says how the bytes are read.
        return f"{type(self._reader).__name__} {self.place.rpartition('.')[2]} {digest.hexdigest()}"

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        with _Reading(self.place):
            for chunk in self._reader.chunks(chunk_samples, is_wanted):
                self._check_unchanged()
                yield chunk

    def _now(self) -> tuple[int, int, int]:
        state = os.stat(self.place)
        return state.st_ino, state.st_size, state.st_mtime_ns

    def _check_unchanged(self) -> None:
        if self._now() != self._state:
            raise LengthsError(
                f"{self.place}: expected a file that stays as it is, got one written meanwhile"
            )


class _Reading:
    """Names the file in what Arrow, tarfile and the decompressors raise about its content."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        is_arrow = type(error).__module__ == "pyarrow.lib" and isinstance(error, Exception)
        # Damaged files are OSErrors too, but without a number.
        is_damage = isinstance(error, (EOFError, OSError)) and getattr(error, "errno", None) is None
        is_packing = type(error).__module__ in ("zlib", "tarfile")
        # Arrow decodes the names of columns without a look.
        is_text = isinstance(error, UnicodeDecodeError)
        if isinstance(error, LengthsError) or not (is_arrow or is_damage or is_packing or is_text):
            return
        raise LengthsError(f"{self._path}: expected a readable file, got {error}") from error
