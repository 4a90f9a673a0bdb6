"""Which arrays of lengths are taken, without or with a copy, and how others are refused."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest
from cases import heavy_tailed

import packsim

LENGTHS = [5, 3, 2, 7, 4]
PACKS = [[3, 1], [0, 4], [2]]


def ffd(lengths: Any, **arguments: Any) -> packsim.Packing:
    return packsim.pack(lengths, strategy="ffd", capacity_tokens=10, **arguments)


class Tensor:
    """Something that numpy can make an array of, like a tensor."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(LENGTHS, dtype=dtype)


class DeviceTensor:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


FIVE = np.array(LENGTHS)
STRIDED = np.zeros(10, dtype=np.int32)
STRIDED[::2] = LENGTHS
UNALIGNED = np.frombuffer(b"x" + np.array(LENGTHS, dtype=np.int32).tobytes(), dtype=np.uint8)[1:].view(
    np.int32
)


@pytest.mark.parametrize(
    "lengths",
    [
        *(FIVE.astype(kind) for kind in "bBhHiIlLqQ"),
        *(FIVE.astype(kind) for kind in (">i2", ">i4", ">i8", "<u2", ">u8")),
        STRIDED[::2],
        FIVE[::-1].astype(np.int32)[::-1],
        np.asfortranarray(FIVE),
        np.array([LENGTHS, LENGTHS]).T[:, 0],
        UNALIGNED,
        LENGTHS,
        tuple(LENGTHS),
        [np.int8(5), 3, np.uint64(2), 7, 4],
        array.array("i", LENGTHS),
        memoryview(array.array("q", LENGTHS)),
        np.ma.array(LENGTHS, mask=False),
        Tensor(),
    ],
    ids=lambda lengths: f"{type(lengths).__name__}-{getattr(lengths, 'dtype', '')}",
)
def test_arrays_of_integers_and_sequences_of_int_are_taken(lengths: Any) -> None:
    packing = ffd(lengths)
    assert [samples.tolist() for samples in packing.groups[0]] == PACKS
    assert packing.groups[0].tokens.tolist() == [7, 3, 5, 4, 2]


def test_a_range_is_a_sequence() -> None:
    assert [samples.tolist() for samples in ffd(range(1, 5)).groups[0]] == [[3, 2, 1, 0]]


@pytest.mark.parametrize(
    "lengths", [[], (), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64), range(0)]
)
def test_no_samples_are_no_packs(lengths: Any) -> None:
    for row in packsim.strategies():
        if row.needs_prices or row.forms_iterations:
            continue
        packing = packsim.pack(lengths, strategy=row.name, capacity_tokens=10)
        assert packing.n_packs == 0
        assert packing.counts.n_samples == 0
        assert packing.groups[0].samples.shape == packing.groups[0].tokens.shape == (0,)
        assert packing.groups[0].pack_tokens().shape == (0,)
        assert list(packing.groups[0]) == []


REFUSED: dict[str, tuple[Any, str]] = {
    "float": (np.array([5.0, 3.0]), "lengths_tokens: expected integer dtype, got float64"),
    "nan": (np.array([5, np.nan, np.nan]), "expected integer dtype, got float64; sample 1 is nan"),
    "half": (np.array([5, 3], dtype=np.float16), "expected integer dtype, got float16"),
    "complex": (np.array([5, 3j]), "expected integer dtype, got complex128"),
    "bool": (np.array([True, False]), "expected integer dtype, got bool"),
    "object": (np.array([5, None], dtype=object), "expected integer dtype, got object"),
    "text": (np.array(["5", "3"]), "expected integer dtype, got <U1"),
    "times": (np.array([5, 3], dtype="m8[s]"), "expected integer dtype, got timedelta64"),
    "record": (np.zeros(2, dtype=[("a", "i4")]), "expected integer dtype, got [('a', '<i4')]"),
    "matrix": (np.zeros((2, 3), dtype=np.int32), "expected one dimension, got shape (2, 3)"),
    "number": (np.array(5), "expected one dimension, got shape ()"),
    "masked": (np.ma.array([5, 3], mask=[0, 1]), "expected no masked values, got one at sample 1"),
    "none": (None, "expected an array or a sequence of integers, got None (NoneType)"),
    "int": (5, "expected an array or a sequence of integers, got 5 (int)"),
    "numpy int": (np.int32(5), "expected one dimension, got shape ()"),
    "string": ("53", "expected an array or a sequence of integers, got '53' (str)"),
    "bytes": (b"53", "expected an array or a sequence of integers, got b'53' (bytes)"),
    "dict": ({5: 3}, "expected an array or a sequence of integers, got {5: 3} (dict)"),
    "generator": ((n for n in [5]), "expected an array or a sequence of integers"),
    "device tensor": (
        DeviceTensor(),
        "expected an array of integers, got DeviceTensor: can't convert cuda:0",
    ),
    "list of float": ([5, 3.0], "expected integers, got 3.0 (float) at sample 1"),
    "list of bool": ([5, True], "expected integers, got True (bool) at sample 1"),
    "list of none": ([5, None], "expected integers, got None (NoneType) at sample 1"),
    "list of lists": ([[5, 3], [2]], "expected integers, got [5, 3] (list) at sample 0"),
    "list of nan": ([5, float("nan")], "expected integers, got nan (float) at sample 1"),
    "list of 2^70": ([5, 2**70], "expected lengths in 0..2147483647, got more than 64 bits at sample 1"),
    "list of -2^70": ([5, -(2**70)], "expected lengths in 0..2147483647, got more than 64 bits at sample 1"),
    "negative": (
        np.array([5, -3, 2, -1], dtype=np.int32),
        "got 2 that are not: sample 1 has -3, sample 3 has -1",
    ),
    "negative, 64 bits": (
        np.array([5, -3]),
        "expected lengths in 0..2147483647, got 1 that are not: sample 1 has -3",
    ),
    "over 32 bits": (
        np.array([5, 2**31, 2**31 - 1, 2**40, -(2**40), 2**33]),
        "got 4 that are not: sample 1 has 2147483648, sample 3 has 1099511627776, "
        "sample 4 has -1099511627776, ...",
    ),
    "over 63 bits": (np.array([5, 2**64 - 1], dtype=np.uint64), "sample 1 has 18446744073709551615"),
    "over capacity": (
        np.array([5, 11, 10, 12, 13, 14]),
        "lengths_tokens: expected lengths of at most 10 (or another over_long policy), got 4 that are not: "
        "sample 1 has 11, sample 3 has 12, sample 4 has 13, ...",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_everything_else_is_refused_with_its_place(name: str) -> None:
    lengths, message = REFUSED[name]
    with pytest.raises(ValueError) as caught:
        ffd(lengths)
    assert message in str(caught.value)
    assert str(caught.value).startswith("lengths_tokens: ")


def test_empty_samples_are_refused_where_that_is_asked_for() -> None:
    with pytest.raises(
        ValueError, match="expected lengths of at least 1 .*got 2 that are not: sample 1 has 0"
    ):
        ffd([5, 0, 3, 0], empty="error")
    assert ffd([5, 0, 3, 0]).counts.empty_samples == 2
    assert len(ffd([5, 0, 3, 0], empty="keep").groups[0].samples) == 4


def test_int32_is_not_copied() -> None:
    # The tokens of the packs are read when they are asked for: from the caller's own memory.
    lengths = np.array(LENGTHS, dtype=np.int32)
    same = ffd(lengths)
    lengths[:] = 1
    assert same.groups[0].tokens.tolist() == [1] * 5
    other = np.array(LENGTHS, dtype=np.int64)
    copied = ffd(other)
    other[:] = 1
    assert copied.groups[0].tokens.tolist() == [7, 3, 5, 4, 2]


def test_read_only_lengths_are_taken() -> None:
    lengths = heavy_tailed(1000, seed=1, longest_tokens=100)
    lengths.flags.writeable = False
    assert packsim.pack(lengths, strategy="bfd", capacity_tokens=100).counts.n_samples == 1000
