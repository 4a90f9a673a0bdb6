"""What a grid of scenarios is read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import described, is_text
from packsim.simulator.errors import ScenarioError
from packsim.simulator.given_lengths import named_lengths
from packsim.simulator.json_text import json_text
from packsim.simulator.native import native
from packsim.simulator.scenario import Scenario, given_settings, scenario_source

if TYPE_CHECKING:
    from packsim import _simulator

Arrays = list[tuple[str, NDArray[np.int32]]]


@dataclass(frozen=True)
class GridSource:
    """A grid that is not read yet: plain values, which can be sent to other processes."""

    path_or_text: str
    name: str  # of the text; empty: it is a path
    varied: tuple[str, ...]  # axes as --vary takes them
    axes: str  # further axes, as JSON; empty: none
    settings: tuple[str, ...]  # as --set takes them

    def read(self, arrays: Arrays | None) -> _simulator.Grid:
        """The grid. arrays: lengths in place of the scenario's. Raises ScenarioError and OSError."""
        simulator = native()
        grid: _simulator.Grid = simulator.read_grid(
            self.path_or_text,
            self.name,
            self.varied,
            self.axes,
            self.settings,
            arrays,
            simulator.__file__,
        )
        return grid


def grid_source(
    scenario: Any, vary: Any, zipped: Any, changes: Any, lengths: Any
) -> tuple[GridSource, Arrays | None]:
    """The arguments of `sweep()` as a source, and its lengths. Raises ScenarioError."""
    arrays = None if lengths is None else named_lengths(lengths)
    settings: list[str] = []
    if isinstance(scenario, Scenario):
        path_or_text, name, settings = scenario._source()
        if arrays is None:
            arrays = scenario._core.given_lengths() or None
    else:
        path_or_text, name = scenario_source(scenario)
    settings += _texts("set", changes) if _is_list(changes) else given_settings(changes)
    varied = _texts("vary", vary) if _is_list(vary) else []
    axes = {
        "vary": {} if vary is None or _is_list(vary) else _axis("vary", vary),
        "zipped": [_axis("zipped", axis) for axis in _zipped(zipped)],
    }
    given = {key: value for key, value in axes.items() if value}
    text = json_text(given, "sweep()") if given else ""
    return GridSource(path_or_text, name, tuple(varied), text, tuple(settings)), arrays


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _texts(name: str, texts: Sequence[Any]) -> list[str]:
    wrong = [text for text in texts if not is_text(text)]
    if wrong:
        raise ScenarioError([f"{name}: expected texts such as the program takes, got {described(wrong[0])}"])
    return list(texts)


def _axis(name: str, axis: Any) -> dict[str, Any]:
    if not isinstance(axis, Mapping):
        raise ScenarioError([f"{name}: expected a mapping of keys to lists of values, got {described(axis)}"])
    return {key: list(values) if isinstance(values, range) else values for key, values in axis.items()}


def _zipped(zipped: Any) -> Sequence[Any]:
    if zipped is None:
        return []
    return zipped if _is_list(zipped) else [zipped]
