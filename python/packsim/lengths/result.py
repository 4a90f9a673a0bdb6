"""What was measured: token lengths in the order of the data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._loss_spans import LossSpans
from packsim._whole_file import whole_file
from packsim.lengths.errors import LengthsError

# The longest sample that packsim packs: scenarios/loader/lengths/length_text.hpp refuses longer ones.
LONGEST_TOKENS = 16_777_216

# Arrays in .npy files have these names and types, as scenarios/loader/lengths/npy_lengths.cpp reads them.
_SPAN_ARRAYS = ("offsets", "begins", "ends")
_DTYPES = ("<i4", "<i8", "<u2", "<u4", "<u8")


@dataclass(frozen=True)
class CacheUse:
    """Chunks of a run: taken from the cache, measured, and measured because the stored ones were damaged."""

    n_cached: int = 0
    n_measured: int = 0
    n_corrupt: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Lengths:
    """Token lengths of a data set.

    Attributes
    ----------
    lengths_tokens : numpy.ndarray
        int32 [n_samples], each in 0..16777216, in the order of the data.
    loss_spans : LossSpans or None
        Where the labels of each sample are other than -100; None where the data have no labels.
    source : str
        What was measured.
    cache_use : CacheUse
        Chunks that came from the cache and chunks that were measured. It is not saved.
    """

    lengths_tokens: NDArray[np.int32]
    loss_spans: LossSpans | None = None
    source: str = ""
    cache_use: CacheUse = field(default=CacheUse())

    @property
    def n_samples(self) -> int:
        return len(self.lengths_tokens)

    @property
    def n_empty(self) -> int:
        """Samples without tokens, which are kept as 0."""
        return self.n_samples - int(np.count_nonzero(self.lengths_tokens))

    @property
    def loss_tokens(self) -> NDArray[np.int32] | None:
        """int32 [n_samples], the tokens of each sample that have loss: never its first, which nothing
        predicts. None where the data have no labels."""
        return None if self.loss_spans is None else self.loss_spans.counts()

    def __len__(self) -> int:
        return self.n_samples

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """`lengths_tokens`, for whatever takes an array of lengths."""
        array: NDArray[Any] = self.lengths_tokens
        if dtype is not None:
            array = array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        words = [f"{self.n_samples} samples", f"{int(self.lengths_tokens.sum(dtype=np.int64))} tokens"]
        if self.n_samples:
            shortest, median, p99, longest = np.percentile(
                self.lengths_tokens, [0, 50, 99, 100], method="lower"
            ).tolist()
            words.append(f"shortest {shortest}, median {median}, p99 {p99}, longest {longest}")
        words.append(f"{self.n_empty} empty")
        if self.loss_tokens is not None:
            words.append(f"{int(self.loss_tokens.sum(dtype=np.int64))} loss tokens")
        return f"Lengths({', '.join(words)}; {self.source or 'unknown source'})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes .npy, which the packsim program reads, or .npz.

        .npy holds `lengths_tokens` alone; .npz also the arrays of `loss_spans`, as `loss_offsets`,
        `loss_begins` and `loss_ends`, and `source`. A file of that name is replaced when the new one is
        whole.

        Raises
        ------
        LengthsError
            For any other ending.
        OSError
            Where the file cannot be written.
        """
        ending = _ending(path)
        with whole_file(path) as file:
            if ending == ".npy":
                np.save(file, self.lengths_tokens.astype("<i4"), allow_pickle=False)
            else:
                np.savez(file, **self._arrays())

    def _arrays(self) -> dict[str, Any]:
        arrays: dict[str, Any] = {
            "lengths_tokens": self.lengths_tokens.astype("<i4"),
            "source": np.asarray(self.source),
        }
        if self.loss_spans is not None:
            arrays |= {f"loss_{name}": getattr(self.loss_spans, name) for name in _SPAN_ARRAYS}
        return arrays

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Lengths:
        """Reads what `save` wrote, or any .npy of lengths that the packsim program reads.

        Raises
        ------
        LengthsError
            For another ending, a damaged file, a wrong type or shape, or a length out of range.
        OSError
            Where the file cannot be read.
        """
        place = os.fspath(path)
        ending = _ending(path)
        try:
            loaded = np.load(place, allow_pickle=False)
            if ending == ".npy":
                return Lengths(_checked(loaded, place, "lengths"), None, place)
            with loaded as arrays:
                if "lengths_tokens" not in arrays:
                    raise LengthsError(
                        f"{place}: expected an array lengths_tokens, got {', '.join(arrays) or 'none'}"
                    )
                lengths_tokens = _checked(arrays["lengths_tokens"], place, "lengths_tokens")
                spans = _loaded_spans(arrays, lengths_tokens, place)
                source = str(arrays["source"]) if "source" in arrays else place
                return Lengths(lengths_tokens, spans, source)
        except LengthsError:
            raise
        except OSError as error:
            if error.errno is None:
                raise LengthsError(f"{place}: expected a NumPy file, got {error}") from error
            raise
        except Exception as error:  # zipfile and numpy raise several types for damaged files
            raise LengthsError(f"{place}: expected a NumPy file, got {error}") from error


def _loaded_spans(arrays: Any, lengths_tokens: NDArray[np.int32], place: str) -> LossSpans | None:
    names = [f"loss_{name}" for name in _SPAN_ARRAYS]
    found = [name for name in names if name in arrays]
    if not found and "loss_tokens" not in arrays:
        return None
    if found != names:
        got = ", ".join(arrays)
        raise LengthsError(f"{place}: expected arrays {', '.join(names)} of labelled data, got {got}")
    try:
        spans = LossSpans(*(arrays[name] for name in names))
        spans.check(lengths_tokens)
    except ValueError as error:
        raise LengthsError(f"{place}: {error}") from error
    return spans


def _ending(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix
    if ending not in (".npy", ".npz"):
        raise LengthsError(
            f"{os.fspath(path)}: expected a file ending in .npy or .npz, got {ending or 'no ending'}"
        )
    return ending


def _checked(array: NDArray[Any], path: str, name: str) -> NDArray[np.int32]:
    place = f"{path}: {name}"
    if array.ndim != 1:
        raise LengthsError(f"{place}: expected one dimension, got {array.ndim}")
    if array.dtype.str not in _DTYPES:
        raise LengthsError(f"{place}: expected elements of {', '.join(_DTYPES)}, got {array.dtype.str}")
    out_of_range = np.flatnonzero((array < 0) | (array > LONGEST_TOKENS))
    if len(out_of_range):
        at = int(out_of_range[0])
        raise LengthsError(f"{place}: element {at}: expected 0 to {LONGEST_TOKENS}, got {array[at]}")
    return array.astype(np.int32)
