"""Packs as arrays: what a shard's file holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._packing import Packing

_OF_PIECES = ("samples", "tokens", "starts_tokens", "loss_tokens")


@dataclass(frozen=True, eq=False)
class PackArrays:
    """Packs one after another: pack p is the pieces `offsets[p]` to `offsets[p + 1]`.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_packs + 1,)
    samples : ndarray of uint32 (of a shard) or uint64 (of the data set), shape (n_pieces,)
    tokens : ndarray of int, shape (n_pieces,)
    starts_tokens : ndarray of int32, shape (n_pieces,), or None
        The first token of the sample that is in the pack; None where all samples begin with theirs.
    loss_tokens : ndarray of int32, shape (n_pieces,), or None
        None: all tokens of a piece but the first.
    """

    offsets: NDArray[Any]
    samples: NDArray[Any]
    tokens: NDArray[Any]
    starts_tokens: NDArray[Any] | None
    loss_tokens: NDArray[Any] | None

    @classmethod
    def of_packing(cls, packing: Packing, loss_tokens: NDArray[np.int32] | None) -> PackArrays:
        """`loss_tokens` are those of the packing's items."""
        group = packing.groups[0]
        starts = group.starts_tokens if packing._core.is_cut and group.starts_tokens.any() else None
        return cls(
            offsets=group.offsets.astype(np.int64),
            samples=group.samples,
            tokens=group.tokens,
            starts_tokens=starts,
            loss_tokens=None if loss_tokens is None else loss_tokens[packing._core.items(0)],
        )

    @property
    def n_packs(self) -> int:
        return len(self.offsets) - 1

    def pack_sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum over the pieces of each pack; no pack is without pieces."""
        if self.n_packs == 0:
            return np.zeros(0, dtype=values.dtype)
        return np.add.reduceat(values, self.offsets[:-1])

    def pack_tokens(self) -> NDArray[np.int64]:
        return self.pack_sums(self.tokens.astype(np.int64))

    def piece_loss_tokens(self) -> NDArray[np.int64]:
        if self.loss_tokens is not None:
            return self.loss_tokens.astype(np.int64)
        return np.maximum(self.tokens.astype(np.int64) - 1, 0)

    def pack_work(self) -> NDArray[np.float32]:
        """The sum of squares of the pieces' lengths: proportional to the work of attention."""
        return self.pack_sums(self.tokens.astype(np.float64) ** 2).astype(np.float32)

    def take(self, packs: NDArray[np.int64]) -> PackArrays:
        """Some packs, in this order."""
        counts = np.diff(self.offsets)[packs]
        offsets = np.zeros(len(packs) + 1, dtype=np.int64)
        np.cumsum(counts, out=offsets[1:])
        pieces = np.repeat(self.offsets[:-1][packs] - offsets[:-1], counts) + np.arange(offsets[-1])
        return self.pick(pieces, offsets)

    def pick(self, pieces: NDArray[Any] | slice, offsets: NDArray[Any]) -> PackArrays:
        """Packs of these pieces, in this order."""
        given: dict[str, Any] = {name: getattr(self, name) for name in _OF_PIECES}
        picked: dict[str, Any] = {name: None if of is None else of[pieces] for name, of in given.items()}
        return PackArrays(offsets=offsets, **picked)

    def with_ids(self, first_sample: int) -> PackArrays:
        """The packs of a shard with the sample ids of the data set."""
        return replace(self, samples=self.samples.astype(np.uint64) + np.uint64(first_sample))

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Returns arrays for a file, in the smallest types; with sums that plans need of packs."""
        arrays: dict[str, NDArray[Any]] = {
            "offsets": _small(self.offsets),
            "samples": self.samples,
            "tokens": _small(self.tokens),
            "pack_loss_tokens": _small(self.pack_sums(self.piece_loss_tokens())),
            "pack_work": self.pack_work(),
        }
        optional = {"starts_tokens": self.starts_tokens, "loss_tokens": self.loss_tokens}
        return arrays | {name: _small(values) for name, values in optional.items() if values is not None}

    @classmethod
    def of_dict(cls, arrays: dict[str, NDArray[Any]]) -> PackArrays:
        """Views of what `to_dict()` gave."""
        of_pieces: dict[str, Any] = {name: arrays.get(name) for name in _OF_PIECES}
        return cls(offsets=arrays["offsets"], **of_pieces)


def _small(values: NDArray[Any]) -> NDArray[Any]:
    most = int(values.max()) if len(values) else 0
    for dtype in ("<u2", "<u4"):
        if most <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype("<u8")
