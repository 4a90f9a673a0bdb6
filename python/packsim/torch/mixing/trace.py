"""What a mixture did in a training, for simulations of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from packsim._whole_file import write_whole


def write_trace(
    path: str | os.PathLike[str], history: Iterable[Mapping[str, Any]], names: Sequence[str]
) -> None:
    """A trace for the simulator: `mixing.trace` of a scenario whose sources have these names.

    Parameters
    ----------
    path : path
        Of a file of JSON lines.
    history : iterable of rows
        `MixtureLoader.history`.
    names : sequence of str
        Of the subsets: `Mixture.names`.

    Raises
    ------
    ValueError
        For a row that is not of so many subsets.
    """
    lines = [json.dumps(_line(i, row, names)) for i, row in enumerate(history)]
    write_whole(path, "".join(line + "\n" for line in lines).encode())


def _line(index: int, row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    line = {"step": int(row["step"]), "probabilities": _by_name(f"history[{index}]", row, names)}
    if row.get("rewards") is not None:
        line["rewards"] = _by_name(f"history[{index}].rewards", row["rewards"], names)
    return line


def _by_name(place: str, values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """`subsets` and, where there are any, `groups` by the names of the subsets."""
    named = {}
    for kind in ("subsets", "groups"):
        if values.get(kind) is None:
            continue
        if len(values[kind]) != len(names):
            raise ValueError(
                f"{place}.{kind}: expected {len(names)}, one for each name, got {len(values[kind])}"
            )
        named[kind] = dict(zip(names, values[kind], strict=True))
    return named
