"""Lengths for a scenario, from whatever holds or measures them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import described
from packsim._lengths_array import as_lengths
from packsim.simulator.errors import ScenarioError

_DEFAULT_NAME = "lengths"


def named_lengths(lengths: Any) -> list[tuple[str, NDArray[np.int32]]]:
    """Name and lengths of each source: those of a mapping, or one."""
    sources = lengths if isinstance(lengths, Mapping) else {_DEFAULT_NAME: lengths}
    for name in sources:
        if not isinstance(name, str):
            raise ScenarioError([f"lengths: expected names of sources, got {described(name)}"])
    return [(name, np.ascontiguousarray(_lengths_of(value, name))) for name, value in sources.items()]


def _lengths_of(value: Any, name: str) -> NDArray[np.int32]:
    from packsim.lengths import Lengths, measure_lengths

    if isinstance(value, Lengths):
        return value.lengths_tokens
    if isinstance(value, (str, os.PathLike)):
        is_saved = os.fspath(value).endswith((".npy", ".npz"))
        return Lengths.load(value).lengths_tokens if is_saved else measure_lengths(value).lengths_tokens
    if _is_array_of_integers(value):
        return as_lengths(value, name)
    return measure_lengths(value).lengths_tokens


def _is_array_of_integers(value: Any) -> bool:
    """Whether it is what `pack()` takes, with its mistakes: anything else is measured."""
    if isinstance(value, (range, np.ndarray)):
        return True
    if isinstance(value, (list, tuple)):
        return not value or isinstance(value[0], (int, float, np.generic))
    return hasattr(value, "__array__") and len(getattr(value, "shape", (0,))) == 1
