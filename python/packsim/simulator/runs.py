"""Simulating the strategies of a scenario."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from packsim._arguments import described, integer_in
from packsim._plan import Plan
from packsim.simulator.native import native
from packsim.simulator.report import Report, Run
from packsim.simulator.scenario import Scenario, as_scenario

Progress = Callable[[str], object]
ScenarioLike = Scenario | str | os.PathLike[str] | Mapping[str, Any]

MOST_THREADS = 256


def compare(
    scenario: ScenarioLike,
    strategies: str | Sequence[str] | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Pack and simulate the strategies of a scenario, and compare them: what `packsim compare` does.

    Other Python threads run meanwhile. Ctrl-C ends it within moments, between two steps of the simulation.

    Parameters
    ----------
    scenario
        A `Scenario`, or what `load_scenario()` takes.
    strategies
        Names of strategies of the scenario; None for all.
    threads
        Number of strategies to run at the same time. Results do not depend on it.
    progress
        Called on the calling thread with what is being done, such as "hbp: simulating iteration 4096 of
        8192". An exception of it ends the comparison.

    Raises
    ------
    ScenarioError
        For mistakes that show only with the data, such as over-long samples under the policy `error`.
    ValueError
        For a strategy that the scenario does not have, and if no strategy can be planned. A strategy that
        cannot, beside others that can, is a run with `failure`.
    OSError
        Where a file of lengths cannot be read.
    """
    scenario = as_scenario(scenario)
    names = [strategies] if isinstance(strategies, str) else list(strategies or [])
    for name in names:
        _check_name(name)
    return _report(scenario, "compare", names, threads, progress)


def simulate(
    scenario: ScenarioLike,
    strategy: str | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Run:
    """Pack and simulate one strategy of a scenario: what `packsim run` does.

    Parameters
    ----------
    scenario, threads, progress
        As of `compare()`.
    strategy
        Its name; None where the scenario has only one.

    Raises
    ------
    ScenarioError, ValueError, OSError
        As `compare()`.
    """
    scenario = as_scenario(scenario)
    return _report(scenario, "run", [_one_strategy(scenario, strategy)], threads, progress).runs[0]


def plan_of(
    scenario: ScenarioLike,
    strategy: str | None = None,
    normaliser: str | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The schedule of a strategy, without simulating it: what `packsim run --write-plan` writes.

    Parameters
    ----------
    scenario, strategy, progress
        As of `simulate()`.
    normaliser
        Of the loss weights, one of `normalisers()`; None for the first.

    Returns
    -------
    Plan
        For `packsim.torch.PlanLoader` and the trainers, and to save.

    Raises
    ------
    ScenarioError, ValueError, OSError
        As `simulate()`, and if the plan does not fit in memory or has what a schedule file cannot say.
    """
    scenario = as_scenario(scenario)
    return scenario._plan(_one_strategy(scenario, strategy), normaliser, progress)


def _report(
    scenario: Scenario, command: str, names: list[str], threads: int, progress: Progress | None
) -> Report:
    n_threads = integer_in("threads", threads, 1, MOST_THREADS)
    options = [word for name in names for word in ("--strategy", name)]
    call = f"packsim.compare(scenario, {names or None}, threads={n_threads})"
    if n_threads != 1:
        options += ["--threads", str(n_threads)]
    text = scenario._command(command, call, *options)
    return Report(native().compare(scenario._core, names, n_threads, text, progress), scenario)


def _one_strategy(scenario: Scenario, strategy: str | None) -> str:
    if strategy is None and len(scenario.strategies) == 1:
        return scenario.strategies[0]
    if strategy is None:
        raise ValueError(f"strategy: expected one of {', '.join(scenario.strategies)}, got None")
    return _check_name(strategy)


def _check_name(name: object) -> str:
    if not isinstance(name, str):
        raise ValueError(f"strategies: expected names of strategies, got {described(name)}")
    return name
