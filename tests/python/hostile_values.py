"""What no argument expects: values of other types, out of every range, and arrays as they should not be."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st


class LyingArray:
    """Says that it is an array, and is none."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no array")


class FailingRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def masked(values: list[float]) -> Any:
    return np.ma.array(values, mask=[True] + [False] * (len(values) - 1))


SCALARS: list[Any] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    -(2**70),
    10**400,  # more than a float holds
    0.5,
    float("nan"),
    float("inf"),
    1j,
    decimal.Decimal(3),
    "x",
    "\ud800",  # half of a surrogate pair
    b"x",
    np.float32("nan"),
    np.datetime64("2020-01-01"),
    object,
    FailingRepr(),
    LyingArray(),
]
ARRAYS: list[Any] = [
    [],
    [[]],
    [None],
    {},
    {1: 2},
    {3, 4},
    range(2**70),
    range(2**40),
    np.array(5),
    np.zeros((2, 2), dtype=np.int32),
    np.array([1, None], dtype=object),
    np.array(["a", "b"]),
    np.array([0.5, np.nan]),
    np.array([2**63], dtype=np.uint64),
    np.array([1, 2], dtype="M8[s]"),
    np.array([(1, 2)], dtype="i4,i4"),
    np.broadcast_to(np.int8(5), (2**33,)),
    masked([3, 4]),
    memoryview(b"abcd"),
]
HOSTILE = st.sampled_from(SCALARS) | st.sampled_from(ARRAYS)
