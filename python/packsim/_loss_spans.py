"""Which tokens of samples have loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._lengths_array import LengthsLike, as_lengths

if TYPE_CHECKING:
    from packsim._packing import Packing

IGNORE_INDEX = -100  # the label of a token without loss, as PyTorch and Hugging Face have it


@dataclass(frozen=True, eq=False, repr=False)
class LossSpans:
    """Which tokens of each sample have loss, as spans of neighbouring tokens.

    A number of loss tokens is enough where samples stay whole. Where they are cut, the loss weights of their
    pieces need the places. The first token of a piece has no loss, whatever the spans say: nothing in front
    of it predicts it.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_samples + 1,)
        Sample s has the spans `offsets[s]` to `offsets[s + 1]`.
    begins, ends : ndarray of int32, shape (n_spans,)
        The first token of each span, and the one behind its last; ascending in each sample.

    Raises
    ------
    ValueError
        For arrays of other types or shapes. Their values are checked where they are used.
    """

    offsets: NDArray[np.int64]
    begins: NDArray[np.int32]
    ends: NDArray[np.int32]

    def __post_init__(self) -> None:
        offsets = np.asarray(self.offsets)
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu":
            got = f"shape {offsets.shape} of {offsets.dtype}"
            raise ValueError(f"offsets: expected one dimension of integers, got {got}")
        object.__setattr__(self, "offsets", np.ascontiguousarray(offsets, dtype=np.int64))
        object.__setattr__(self, "begins", as_lengths(self.begins, "begins"))
        object.__setattr__(self, "ends", as_lengths(self.ends, "ends"))

    @classmethod
    def of_labels(cls, labels: Iterable[Sequence[int]], ignore_index: int = IGNORE_INDEX) -> LossSpans:
        """Makes spans of the labels of sample after sample: all but `ignore_index` have loss."""
        masks = [np.asarray(one) != ignore_index for one in labels]
        lengths = np.array([len(mask) for mask in masks], dtype=np.int64)
        return cls.of_mask(np.concatenate([np.zeros(0, dtype=bool), *masks]), lengths)

    @classmethod
    def of_mask(cls, has_loss: NDArray[np.bool_], lengths_tokens: NDArray[Any]) -> LossSpans:
        """Makes spans of a flag for each token of sample after sample, samples of these lengths."""
        ends_of_samples = np.cumsum(lengths_tokens, dtype=np.int64)
        if len(has_loss) != (ends_of_samples[-1] if len(ends_of_samples) else 0):
            raise ValueError(f"has_loss: expected {lengths_tokens.sum()} flags, got {len(has_loss)}")
        starts_of_samples = ends_of_samples - lengths_tokens
        changes = np.zeros(len(has_loss) + 1, dtype=bool)
        changes[1:-1] = has_loss[1:] != has_loss[:-1]
        changes[starts_of_samples] = True
        changes[-1] = True
        # All tokens between two changes have loss or none has.
        borders = np.flatnonzero(changes)
        with_loss = np.flatnonzero(has_loss[borders[:-1]])
        begins, ends = borders[with_loss], borders[with_loss + 1]
        offsets = np.zeros(len(lengths_tokens) + 1, dtype=np.int64)
        offsets[1:] = np.searchsorted(begins, ends_of_samples)
        base = np.repeat(starts_of_samples, np.diff(offsets))
        return cls(offsets, (begins - base).astype(np.int32), (ends - base).astype(np.int32))

    @classmethod
    def joined(cls, parts: Sequence[LossSpans]) -> LossSpans:
        """Samples of all parts, one part after another."""
        counts = np.concatenate([np.zeros(1, dtype=np.int64), *(np.diff(part.offsets) for part in parts)])
        begins = np.concatenate([np.zeros(0, dtype=np.int32), *(part.begins for part in parts)])
        ends = np.concatenate([np.zeros(0, dtype=np.int32), *(part.ends for part in parts)])
        return cls(np.cumsum(counts), begins, ends)

    def take(self, samples: NDArray[Any] | slice) -> LossSpans:
        """Returns the spans of these samples, in this order: `numpy.ndarray` of indices, or a slice."""
        starts, counts = self.offsets[:-1][samples], np.diff(self.offsets)[samples]
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        spans = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
        return LossSpans(offsets, self.begins[spans], self.ends[spans])

    def counts(self) -> NDArray[np.int32]:
        """Shape (n_samples,): the loss tokens of whole samples."""
        tokens = self.ends.astype(np.int64) - np.maximum(self.begins, 1)
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(tokens)])
        of_samples: NDArray[np.int32] = np.diff(before[self.offsets]).astype(np.int32)
        return of_samples

    def check(self, lengths_tokens: NDArray[np.int32]) -> None:
        """ValueError unless every span lies in its sample, behind the one before it."""
        _core.check_loss_spans(lengths_tokens, self.offsets, self.begins, self.ends)

    def of_items(self, packing: Packing) -> NDArray[np.int32]:
        """The loss tokens of the packing's items: of its samples or, where it cuts samples, of its pieces.

        Raises
        ------
        ValueError
            For other samples than those that were packed, and as `check()`.
        """
        try:
            return _core.loss_tokens_of_items(packing._core, self.offsets, self.begins, self.ends)
        except ValueError as error:
            raise ValueError(f"loss_tokens: {error}") from None

    def content_hash(self) -> str:
        """Returns a hash of the values, for telling one data set's from another's."""
        arrays = (np.diff(self.offsets).astype(np.int32), self.begins, self.ends)
        return "-".join(_core.hash_of_lengths(array) for array in arrays)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        tokens = int(self.counts().sum(dtype=np.int64))
        return f"LossSpans({len(self)} samples, {len(self.begins)} spans, {tokens} loss tokens)"


def losses_of_items(packing: Packing, loss_tokens: LengthsLike | LossSpans) -> NDArray[np.int32]:
    """Shape (n_items,): the loss tokens of a packing's items.

    loss_tokens: where tokens of the samples have loss, or how many have. ValueError where these are not of
    the samples that were packed, and for numbers where samples are cut.
    """
    if isinstance(loss_tokens, LossSpans):
        return loss_tokens.of_items(packing)
    losses = as_lengths(loss_tokens, "loss_tokens")
    if packing._core.is_cut:
        raise ValueError(
            "loss_tokens: expected LossSpans for a packing that cuts samples, because a number does not say "
            "which tokens of a sample have loss, got numbers"
        )
    if len(losses) != packing.counts.n_samples:
        raise ValueError(f"loss_tokens: expected {packing.counts.n_samples} numbers, got {len(losses)}")
    return losses
