"""Lengths of samples as the core takes them: a contiguous array of 32-bit integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._arguments import Problems, array_of, described, has_more_than, is_masked

MOST_SAMPLES = 2**32 - 1  # an index of a sample has 32 bits


class SupportsArray(Protocol):
    """What numpy makes an array of: arrays, tensors in main memory, columns of tables."""

    def __array__(self) -> NDArray[Any]: ...


LengthsLike = Sequence[int] | SupportsArray


def as_lengths(
    lengths_tokens: object, name: str = "lengths_tokens", first_sample: int = 0
) -> NDArray[np.int32]:
    """The lengths; int32, contiguous, aligned and in the machine's byte order is used without a copy.

    Other integers are converted in one pass. ValueError for what is no one-dimensional array of integers.
    Negative lengths of 32 bits are left for the core to refuse, which names those of other mistakes too.
    Errors count samples from `first_sample`.
    """
    if isinstance(lengths_tokens, (list, tuple, range)):
        return _core.to_int32(_of_sequence(lengths_tokens, name, first_sample), name, first_sample)
    array = _of_array_like(lengths_tokens, name, first_sample)
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: expected integer dtype, got {array.dtype}{_first_nan(array, first_sample)}"
        )
    if array.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got shape {array.shape}")
    if len(array) > MOST_SAMPLES:
        raise ValueError(f"{name}: expected at most {MOST_SAMPLES} samples, got {len(array)}")
    if array.dtype == np.int32 and array.dtype.isnative and array.flags.c_contiguous and array.flags.aligned:
        return array
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return _core.to_int32(array, name, first_sample)


def as_numbers(name: str, values: object, problems: Problems, least: int = 0) -> NDArray[np.float64]:
    """A number of each sample; none after a mistake. least: so many samples."""
    array = array_of(values)
    if is_masked(values):
        problems.add(f"{name}: expected no masked values")
    elif array.ndim == 1 and len(array) > MOST_SAMPLES:
        problems.add(f"{name}: expected at most {MOST_SAMPLES} samples, got {len(array)}")
    elif array.dtype.kind not in "iuf" or array.ndim != 1 or len(array) < least:
        problems.add(f"{name}: expected an array of numbers of one dimension, got {described(values)}")
    else:
        return np.ascontiguousarray(array, dtype=np.float64)
    return np.empty(0)


def _of_array_like(value: object, name: str, first_sample: int) -> NDArray[Any]:
    if is_masked(value):
        sample = first_sample + int(np.flatnonzero(np.ma.getmaskarray(value).ravel())[0])
        raise ValueError(f"{name}: expected no masked values, got one at sample {sample}")
    if isinstance(value, (bytes, bytearray)) or not (hasattr(value, "__array__") or _has_buffer(value)):
        raise ValueError(f"{name}: expected an array or a sequence of integers, got {described(value)}")
    try:
        array: NDArray[Any] = np.asarray(value)
    except Exception as error:  # whatever an __array__ of others raises
        kind = type(value).__name__
        raise ValueError(f"{name}: expected an array of integers, got {kind}: {error}") from error
    return array


def _has_buffer(value: object) -> bool:
    try:
        memoryview(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _of_sequence(values: Sequence[Any], name: str, first_sample: int) -> NDArray[np.int64]:
    if isinstance(values, range):
        _check_range(values, name)
    # numpy would take True for 1 and make floats of what is too large.
    if not isinstance(values, range) and not set(map(type, values)) <= {int}:
        for sample, value in enumerate(values, first_sample):
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
                raise ValueError(f"{name}: expected integers, got {described(value)} at sample {sample}")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError as error:
        sample = next(i for i, value in enumerate(values, first_sample) if not -(2**63) <= value < 2**63)
        most = np.iinfo(np.int32).max
        got = f"more than 64 bits at sample {sample}"
        raise ValueError(f"{name}: expected lengths in 0..{most}, got {got}") from error


def _check_range(values: range, name: str) -> None:
    # Its numbers would take memory before anybody counts them.
    if has_more_than(MOST_SAMPLES, values):
        raise ValueError(f"{name}: expected at most {MOST_SAMPLES} samples, got {values}")


def _first_nan(array: NDArray[Any], first_sample: int) -> str:
    if array.dtype.kind not in "fc":
        return ""
    places = np.flatnonzero(np.isnan(array).ravel())
    return f"; sample {first_sample + places[0]} is nan" if len(places) else ""
