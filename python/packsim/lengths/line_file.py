"""Files of a JSON value a line, plain or compressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO

from packsim.lengths.compressed import COMPRESSIONS
from packsim.lengths.file_part import FilePart
from packsim.lengths.parts import Chunk, IsWanted, in_turn
from packsim.lengths.rows import LineRows


class LineFile(FilePart):
    """Lines are read one after another; they are parsed where they are measured."""

    def _mistakes(self) -> list[str]:
        with self._open() as file:
            first = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
        if first.startswith(b"[") and self.place.endswith(".json"):
            return [f"{self.place}: expected a JSON object a line, got an array of the whole file"]
        return []

    def _open(self) -> BinaryIO:
        kind = {"gz": "gz", "zst": "zstd"}.get(self.place.rpartition(".")[2], "none")
        return COMPRESSIONS[kind](self.place)

    def _chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        with self._open() as file:
            lines = _without_last_empty_lines(file)
            yield from in_turn(lines, chunk_samples, is_wanted, partial(LineRows, self.place))


def _without_last_empty_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Empty lines are a mistake, but at the end of the file."""
    n_empty = 0
    for line in lines:
        if not line.strip():
            n_empty += 1
            continue
        while n_empty:
            yield b""
            n_empty -= 1
        yield line
