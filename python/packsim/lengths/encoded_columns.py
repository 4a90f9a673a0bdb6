"""Columns that are stored as bytes: what they can give, and how they are decoded."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import numpy as np

from packsim.lengths.arrow_columns import Selection, Wants
from packsim.lengths.bad_rows import describe
from packsim.lengths.rows import Undecodable

# What a column holds. The values of `bytes` are left as they are; those of `pickle` are never loaded.
Kind = Literal["text", "json", "array", "integer", "bytes", "pickle"]

_WANTED: dict[str, tuple[str, tuple[Kind, ...]]] = {
    "text": ("text", ("text", "json")),
    "tokens": ("token ids, or lengths", ("array", "json", "integer")),
    "labels": ("labels", ("array", "json")),
    "anything": ("anything but pickles", ("text", "json", "array", "integer", "bytes")),
}
_WHY_NOT = {
    "pickle": ", whose code would run while it is read",
    "bytes": "; give a function of them, such as lambda ids: len(ids) // 8",
}


def column_mistakes(name: str, kind: Kind, encoding: str, selection: Selection, place: str) -> list[str]:
    """Why a column cannot give what is wanted of it; empty where it can.

    `encoding` is what the data call the kind.
    """
    wants = "labels" if name == selection.labels_column else selection.wants
    expected, kinds = _WANTED[wants]
    if kind in kinds:
        return []
    why = _WHY_NOT.get(kind, "") if wants == "tokens" or kind == "pickle" else ""
    return [f"{place}: column {name}: expected {expected}, got {encoding}{why}"]


def decoded_text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Undecodable(name, "UTF-8 text", str(error)) from error


def decoded_json(name: str, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Undecodable(name, "JSON", f"{describe(content)} ({error})") from error


def decoded_array(
    name: str, content: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...], wants: Wants
) -> Any:
    """The array that fills the bytes, without a copy; of integers where token ids are wanted."""
    if wants == "tokens" and dtype.kind not in "iu":
        raise Undecodable(name, "integers", f"an array of {dtype}")
    n_bytes = math.prod(shape) * dtype.itemsize
    if len(content) != n_bytes:
        raise Undecodable(name, f"{n_bytes} bytes, as shape {shape} of {dtype} takes", str(len(content)))
    return np.frombuffer(content, dtype).reshape(shape)
