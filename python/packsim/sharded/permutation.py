"""A shuffle whose every place is computed on its own, without a table."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 6


class Permutation:
    """A permutation of 0..n-1 that a seed draws.

    A Feistel network over rows and columns of the smallest near-square grid that holds n cells; values beyond
    n go through it again until they lie inside (cycle walking: Black and Rogaway, CT-RSA 2002). It needs the
    same memory for any n, and gives the same on any machine.
    """

    def __init__(self, n: int, seed: int) -> None:
        self.n = n
        self._n_rows = np.uint64(max(math.isqrt(max(n - 1, 0)) + 1, 1))
        self._n_columns = np.uint64(max(-(-n // int(self._n_rows)), 1))
        keys = np.arange(1, 2 * _ROUNDS + 1, dtype=np.uint64) + np.uint64(seed) * np.uint64(1 << 20)
        self._keys = _mixed(keys)

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is at these places, each in 0..n-1."""
        values = self._walked(places.astype(np.uint64))
        outside = np.flatnonzero(values >= np.uint64(self.n))
        while len(outside):
            values[outside] = self._walked(values[outside])
            outside = outside[values[outside] >= np.uint64(self.n)]
        return values.astype(np.int64)

    def _walked(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        rows, columns = values // self._n_columns, values % self._n_columns
        for row_key, column_key in zip(self._keys[::2], self._keys[1::2], strict=True):
            rows = (rows + _mixed(columns ^ row_key) % self._n_rows) % self._n_rows
            columns = (columns + _mixed(rows ^ column_key) % self._n_columns) % self._n_columns
        return rows * self._n_columns + columns


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), modulo 2^64."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
