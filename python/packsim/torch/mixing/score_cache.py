"""Scores of finished chunks, kept in a file."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packsim._whole_file import write_whole


class ScoreCache:
    """An `.npz` file with the key and the scores of each chunk that is done.

    Parameters
    ----------
    path : path or None
        None: nothing is kept.
    keys, sizes : sequence, shape (n_chunks,)
        Of the chunks that are wanted: a chunk of the file counts where it has the same key and size.

    Attributes
    ----------
    chunks : list of ndarray or None, shape (n_chunks,)
        Their scores; None where they are still to be made.

    Raises
    ------
    ValueError
        For a file that is no such cache, which is left as it is.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, keys: Sequence[str], sizes: Sequence[int]
    ) -> None:
        self._path = None if path is None else Path(path)
        self._keys = list(keys)
        known = self._read()
        self.chunks: list[NDArray[np.float64] | None] = []
        for key, size in zip(keys, sizes, strict=True):
            scores = known.get(key)
            self.chunks.append(scores if scores is not None and len(scores) == size else None)

    def add(self, place: int, scores: NDArray[np.float64]) -> None:
        """Scores of that chunk; the file is replaced as a whole."""
        self.chunks[place] = scores
        if self._path is None:
            return
        done = [
            (key, of_key) for key, of_key in zip(self._keys, self.chunks, strict=True) if of_key is not None
        ]
        content = io.BytesIO()
        np.savez(
            content,
            keys=np.array([key for key, _ in done]),
            sizes=np.array([len(of_key) for _, of_key in done]),
            scores=np.concatenate([of_key for _, of_key in done]),
        )
        write_whole(self._path, content.getvalue())

    def _read(self) -> dict[str, NDArray[np.float64]]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            with np.load(self._path, allow_pickle=False) as file:
                keys, sizes, scores = file["keys"].tolist(), file["sizes"], file["scores"]
            parts = np.split(np.asarray(scores, dtype=np.float64), np.cumsum(sizes)[:-1])
            return dict(zip(keys, parts, strict=True))
        except (ValueError, KeyError, TypeError, EOFError, AttributeError, zipfile.BadZipFile):
            raise ValueError(f"{self._path}: expected a cache of scores (.npz), got another file") from None
