"""What one process measures at once, when processes share probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim.torch.mixing.probes import Prober, rows_of

# A backward pass takes two forward passes' time.
_FORWARDS_OF_A_GRADIENT = 3


@dataclass(frozen=True)
class ProbeUnit:
    """The gradient norm of some rows together, or the mean loss of each sample of one row.

    Attributes
    ----------
    of_gradient : bool
    rows : tuple of ndarray of int64
        Samples that share a row, of each row.
    places : ndarray of int64
        Where its numbers go among all that are measured.
    cost : int
        In tokens of forward passes.
    """

    of_gradient: bool
    rows: tuple[NDArray[np.int64], ...]
    places: NDArray[np.int64]
    cost: int

    def measured(self, prober: Prober) -> tuple[Any, Any]:
        """Its numbers, and whether each has labels behind it."""
        return prober.gradient_norm(self.rows) if self.of_gradient else prober.mean_losses(self.rows[0])


class ProbeUnits:
    """Makes the units of samples.

    Parameters
    ----------
    lengths_tokens : ndarray of int32
        Of all samples of the data set.
    capacity_tokens : int
        Of rows; longer samples have one of their own.
    """

    def __init__(self, lengths_tokens: NDArray[np.int32], capacity_tokens: int) -> None:
        self._lengths_tokens = lengths_tokens
        self._capacity_tokens = capacity_tokens

    def of_gradients(self, samples: NDArray[np.int64], first_place: int, is_batch: bool) -> list[ProbeUnit]:
        """One of each sample that has tokens, or one of all samples as a batch."""
        samples = samples[self._lengths_tokens[samples] > 0]
        if is_batch:
            batches = [tuple(samples[row] for row in self._rows(samples))]
        else:
            batches = [(samples[place : place + 1],) for place in range(len(samples))]
        return [
            ProbeUnit(True, batch, np.array([place]), _FORWARDS_OF_A_GRADIENT * sum(map(self._tokens, batch)))
            for place, batch in enumerate(batches, first_place)
        ]

    def of_perplexities(self, samples: NDArray[np.int64], first_place: int = 0) -> list[ProbeUnit]:
        """One of each row; samples without tokens are in none."""
        return [
            ProbeUnit(False, (samples[row],), first_place + row, self._tokens(samples[row]))
            for row in self._rows(samples)
        ]

    def _rows(self, samples: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return rows_of(samples, self._lengths_tokens, self._capacity_tokens)

    def _tokens(self, samples: NDArray[np.int64]) -> int:
        return int(self._lengths_tokens[samples].sum(dtype=np.int64))
