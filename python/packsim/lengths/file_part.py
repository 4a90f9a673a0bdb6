"""A file as a part of a source, and what identifies it."""

from __future__ import annotations

import hashlib
import os
import stat
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from packsim.lengths.arrow_columns import Selection
from packsim.lengths.errors import LengthsError, collected, first_of, raise_if_any
from packsim.lengths.parts import Chunk, IsWanted, Part

_HASHED_BLOCK_BYTES = 1 << 20


class FilePart(Part):
    """A file that must stay as it is while it is read, by methods of the classes of formats."""

    def __init__(self, path: str, selection: Selection) -> None:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise LengthsError(f"{path}: expected a regular file, got another kind")
        self.place = path
        self._selection = selection
        self._state = self._now()

    @property
    def n_samples(self) -> int | None:
        with _reading(self.place):
            return self._n_samples()

    def mistakes(self) -> list[str]:
        mistakes: list[str] = []
        with collected(mistakes), _reading(self.place):
            mistakes += self._mistakes()
        return mistakes

    def identity(self) -> str | None:
        """The SHA-256 of its bytes: a moved or copied file is the same one, an edited one never is."""
        digest = hashlib.sha256()
        with open(self.place, "rb") as file:
            while block := file.read(_HASHED_BLOCK_BYTES):
                digest.update(block)
        self._check_unchanged()
        # The ending says how the bytes are read.
        return f"{type(self).__name__} {self.place.rpartition('.')[2]} {digest.hexdigest()}"

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        with _reading(self.place):
            for chunk in self._chunks(chunk_samples, is_wanted):
                self._check_unchanged()
                yield chunk

    def _n_samples(self) -> int | None:
        return None

    @abstractmethod
    def _mistakes(self) -> list[str]: ...

    @abstractmethod
    def _chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]: ...

    def _now(self) -> tuple[int, int, int]:
        state = os.stat(self.place)
        return state.st_ino, state.st_size, state.st_mtime_ns

    def _check_unchanged(self) -> None:
        if self._now() != self._state:
            raise LengthsError(
                f"{self.place}: expected a file that stays as it is, got one written meanwhile"
            )


def parts_of_shards(path: str, shards: list[Any], opened: Callable[[Any], FilePart]) -> list[Part]:
    """A part for each shard of an index, in its order.

    Raises
    ------
    LengthsError
        With the first ten shards that are missing, of another kind, or not on this machine.
    """
    parts: list[Part] = []
    mistakes: list[str] = []
    for number, shard in enumerate(shards):
        with collected(mistakes, f"{path}: shard {number}: "):
            parts.append(opened(shard))
    raise_if_any(first_of(mistakes))
    return parts


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Names the file in what Arrow, tarfile and the decompressors raise about its content."""
    try:
        yield
    except LengthsError:
        raise
    except Exception as error:
        is_of_reader = type(error).__module__ in ("pyarrow.lib", "zlib", "tarfile")
        # Damaged files are OSErrors too, but without a number.
        is_damage = isinstance(error, (EOFError, OSError)) and getattr(error, "errno", None) is None
        # Arrow decodes the names of columns without a look.
        if not (is_of_reader or is_damage or isinstance(error, UnicodeDecodeError)):
            raise
        raise LengthsError(f"{path}: expected a readable file, got {error}") from error
