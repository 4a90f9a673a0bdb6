"""Scenarios: the job that strategies are compared on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import described, is_text
from packsim._normalisers import find_normaliser, normalisers
from packsim._plan import Plan
from packsim.simulator.errors import ScenarioError
from packsim.simulator.given_lengths import named_lengths
from packsim.simulator.json_text import json_text
from packsim.simulator.native import native

if TYPE_CHECKING:
    from packsim import _simulator

_DICT = "dict"  # the place of mistakes in a scenario that no file holds


class Scenario:
    """A scenario that was read and checked. Made by `load_scenario()`; it does not change.

    Attributes
    ----------
    name, description : str
    path : str
        Of its file; "dict" where it is not from one.
    hash : str
        As in reports: of the file's bytes, or of the changed scenario.
    strategies : tuple of str
        Their names.
    baseline : str
        The strategy that speed-ups refer to.
    """

    def __init__(
        self, core: _simulator.Scenario, words: tuple[str, ...] | None, base: Scenario | None = None
    ) -> None:
        self._core = core
        self._words = words  # that name it to the program; None: it has no file
        self._base = base  # with the lengths of its files, where this one's are from memory
        self.name = core.name
        self.description = core.description
        self.path = core.path
        self.hash = core.hash
        self.strategies = tuple(core.strategies)
        self.baseline = core.baseline

    def to_dict(self) -> dict[str, Any]:
        """The scenario as it was read, with what `set` and `with_lengths()` have changed."""
        document: dict[str, Any] = json.loads(self._core.text)
        return document

    def with_lengths(self, lengths: Any) -> Scenario:
        """The same scenario with these token lengths in place of its files.

        All of them are trained, in an order that is shuffled if the scenario's is. Reports have their number
        and hash as for files.

        Parameters
        ----------
        lengths
            An array or sequence of integers, a `packsim.lengths.Lengths`, or what
            `packsim.lengths.measure_lengths()` measures without a tokenizer, such as a path. A mapping has
            several sources, each under the name that reports give it.

        Raises
        ------
        ScenarioError
            For lengths outside of 0..16777216 and sources without any, all of them.
        ValueError
            For what is no array of integers, and as `measure_lengths()` raises it.
        """
        return self._with_arrays(named_lengths(lengths))

    def _with_arrays(self, arrays: list[tuple[str, NDArray[np.int32]]]) -> Scenario:
        return Scenario(self._core.with_lengths(arrays), None, self._base or self)

    def _source(self) -> tuple[str, str, list[str]]:
        """Returns what it is read from again: the words of `scenario_source()`, and settings. Given lengths
        are left out."""
        base = self._base or self
        if base._words is None:
            return base._core.text, base.path, []
        return base._words[0], "", list(base._words[2::2])

    def _command(self, command: str, call: str, *options: str) -> str:
        """What a report says that it was made with: the program's command, or the Python call."""
        if self._words is None:
            return call
        text: str = native().shell_command([command, *self._words, *options])
        return text

    def _plan(self, strategy: str, normaliser: str | None, progress: Any) -> Plan:
        """The schedule of a strategy."""
        rule = normalisers()[0] if normaliser is None else find_normaliser(normaliser)
        return Plan.from_bytes(native().schedule_file(self._core, strategy, rule.name, progress))

    def __repr__(self) -> str:
        return f"Scenario({self.name}: {', '.join(self.strategies)}; {self.path})"


def load_scenario(
    scenario: str | os.PathLike[str] | Mapping[str, Any], set: Mapping[str, Any] | None = None
) -> Scenario:
    """Read a scenario, with the model, cluster, profile and strategies that it names.

    >>> import packsim
    >>> packsim.load_scenario("llama3.1-8b-tulu3-4k", set={"cluster.nodes": 4}).baseline
    'isf'

    Parameters
    ----------
    scenario
        The path of a file, the name of a shipped scenario, or a mapping with what a file would have; the
        relative paths in it are those of the current folder.
    set
        Changes, as `--set` of the program: `{"strategies.isf.capacity_tokens": "64K"}`. A value is what JSON
        makes of it.

    Raises
    ------
    ScenarioError
        With every mistake, worded as the program words it.
    OSError
        Where a file cannot be read.
    ImportError
        Where this package was built without the simulator.
    """
    native()  # ImportError comes before mistakes
    return read_scenario(*scenario_source(scenario), given_settings(set))


def read_scenario(source: str, name: str, settings: list[str]) -> Scenario:
    """What `scenario_source()` and `given_settings()` say."""
    simulator = native()
    words = (source, *(word for setting in settings for word in ("--set", setting)))
    core = simulator.read_scenario(source, name, settings, simulator.__file__)
    return Scenario(core, None if name else words)


def given_settings(changes: Any) -> list[str]:
    """The argument `set` as the program's --set. Raises ScenarioError."""
    if changes is not None and not isinstance(changes, Mapping):
        raise ScenarioError([f"set: expected a mapping of keys to values, got {described(changes)}"])
    return [f"{key}={json_text(value, f'set {key}')}" for key, value in (changes or {}).items()]


def scenario_source(scenario: Any) -> tuple[str, str]:
    """A path and "", or a text and its name in messages. Raises ScenarioError."""
    if isinstance(scenario, Mapping):
        return json_text(scenario, _DICT), _DICT
    path = os.fspath(scenario) if isinstance(scenario, (str, os.PathLike)) else scenario
    if not is_text(path):
        raise ScenarioError([f"scenario: expected a path, a name or a mapping, got {described(scenario)}"])
    if not isinstance(scenario, str) and "/" not in path:
        path = os.path.join(os.curdir, path)  # a path is no name of a shipped scenario
    return path, ""


def as_scenario(scenario: Any) -> Scenario:
    """What `load_scenario()` makes of it, unless it is one already."""
    return scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
