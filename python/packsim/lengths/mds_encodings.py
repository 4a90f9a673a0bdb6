"""Encodings of the columns of MosaicML's MDS shards, as streaming/base/format/mds/encodings.py names them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from packsim.lengths.arrow_columns import Wants
from packsim.lengths.encoded_columns import Kind, decoded_array, decoded_json, decoded_text
from packsim.lengths.rows import Undecodable

_SCALARS: dict[str, str] = {"int": "<i8"} | {
    f"{kind}{bits}": f"<{kind[0]}{bits // 8}" for kind in ("uint", "int") for bits in (8, 16, 32, 64)
}
_KINDS: dict[str, Kind] = {
    "str": "text",
    "json": "json",
    "ndarray": "array",
    "str_int": "integer",
    "pkl": "pickle",
    **dict.fromkeys(_SCALARS, "integer"),
}
# The byte that says the type of an array where its encoding does not.
_ARRAY_TYPES = {
    8: "uint8",
    9: "int8",
    16: "uint16",
    17: "int16",
    18: "float16",
    32: "uint32",
    33: "int32",
    34: "float32",
    64: "uint64",
    65: "int64",
    66: "float64",
}
_SHAPE_TYPES = [np.dtype(name) for name in ("<u1", "<u2", "<u4", "<u8")]


@cache
def kind_of(encoding: str) -> Kind:
    """Images and floats stay bytes. Only arrays have something behind a colon."""
    name, colon, _ = encoding.partition(":")
    kind = _KINDS.get(name, "bytes")
    return kind if kind == "array" or not colon else "bytes"


@dataclass(frozen=True)
class MdsDecoder:
    """Decodes columns by their encodings."""

    encodings: dict[str, str]
    wants: Wants

    def __call__(self, name: str, content: bytes) -> Any:
        encoding = self.encodings[name]
        kind = kind_of(encoding)
        if kind == "text":
            return decoded_text(name, content)
        if kind == "json":
            return decoded_json(name, content)
        if kind == "array":
            return _array(name, encoding, content, self.wants)
        if kind == "integer":
            return _integer(name, encoding, content)
        return content


def _integer(name: str, encoding: str, content: bytes) -> int:
    try:
        if encoding == "str_int":
            return int(content)
        (value,) = np.frombuffer(content, _SCALARS[encoding])
        return int(value)
    except ValueError as error:
        raise Undecodable(name, encoding, f"{len(content)} bytes") from error


def _array(name: str, encoding: str, content: bytes, wants: Wants) -> Any:
    """[type: 1 byte, unless the encoding has it] [dimensions * 4 + type of shape: 1 byte, shape, unless the
    encoding has them] [values]"""
    at = 0
    try:
        dtype, shape = _array_encoding(encoding)
        if dtype is None:
            dtype, at = _array_type(_ARRAY_TYPES[content[0]]), 1
        if shape is None:
            n_dimensions, shape_type = content[at] >> 2, _SHAPE_TYPES[content[at] & 3]
            shape = tuple(np.frombuffer(content, shape_type, n_dimensions, at + 1).tolist())
            at += 1 + n_dimensions * shape_type.itemsize
    except (IndexError, KeyError, ValueError) as error:
        raise Undecodable(name, f"an array ({encoding})", f"{len(content)} bytes that are none") from error
    return decoded_array(name, memoryview(content)[at:], dtype, shape, wants)


@cache
def _array_encoding(encoding: str) -> tuple[np.dtype[Any] | None, tuple[int, ...] | None]:
    """Type and shape of all arrays of a column, where it has them: ndarray:TYPE:SIZE,SIZE."""
    _, type_name, shape = (*encoding.split(":"), "", "")[:3]
    return (
        _array_type(type_name) if type_name else None,
        tuple(map(int, shape.split(","))) if shape else None,
    )


@cache
def _array_type(name: str) -> np.dtype[Any]:
    if name not in _ARRAY_TYPES.values():
        raise KeyError(name)
    return np.dtype(name).newbyteorder("<")
