"""Which cluster and plan a job should have."""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packsim._arguments import described, integer_in
from packsim._frames import Column, Table
from packsim.simulator.given_lengths import named_lengths
from packsim.simulator.native import native
from packsim.simulator.records import Record
from packsim.simulator.runs import MOST_THREADS
from packsim.simulator.scenario import Scenario, given_settings, read_scenario, scenario_source

Progress = Callable[[str], object]

_MOST_NODES = 65536
_GOALS = ("cheapest", "fastest")
# These columns are those of a candidate, and of its times.
_COLUMNS = {
    "cluster_type": "str",
    "nodes": "int",
    "n_gpus": "int",
    "least_gpu_hours": "float",
    "strategy": "str",
    "standing": "str",
    "reason": "str",
    "zero_stage": "int",
    "groups": "str",
}
_TIMES = ("wall_hours", "gpu_days", "money")


class Recommendation(Table, Record):
    """The answer to which cluster and plan a job should have: recommendation.json (docs/planning.md).

    Attributes
    ----------
    best : Record or None
        The candidate that is recommended; None if none keeps to the limits.
    candidates : tuple of Record
        Every strategy on every cluster, with what it is to the question.
    ranking, pareto : tuple of Record
        The best candidate of each cluster that keeps to the limits, best first; and those that no other one
        beats in both hours and money, the fastest first.
    fewest_gpus : int or None
        That keep to the limits.
    is_complete : bool
        Whether the best and the fewest GPUs are those of all clusters: False where no time was left.
    scenario : Scenario or None
        On the best cluster, for `packsim.compare()` and `packsim.plan_of()`.
    settings : dict of str to str
        The plan as settings of trainers, by file name, which has a folder for each trainer where the scenario
        names none; empty without a best.
    """

    def __init__(self, members: dict[str, Any], scenario: Scenario | None, settings: dict[str, str]) -> None:
        super().__init__(members, "recommendation")
        self.scenario = scenario
        self.settings = settings

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if key == "best":
            return None if value is None else self.candidates[value]
        if key in ("ranking", "pareto"):
            return tuple(self.candidates[index] for index in value)
        return value

    def _columns(self) -> list[Column]:
        """A row per candidate."""
        rows = self.to_dict()["candidates"]
        columns: list[Column] = [(key, kind, [row[key] for row in rows]) for key, kind in _COLUMNS.items()]
        for key in (f"{name}{end}" for name in _TIMES for end in ("", "_low", "_high")):
            columns.append((key, "float", [(row["times"] or {}).get(key) for row in rows]))
        return columns

    def save_settings(self, folder: str | os.PathLike[str]) -> None:
        """Write the settings of the scenario's trainer, or of each that can run the plan, and README.md.

        Raises
        ------
        ValueError
            Where nothing is recommended.
        OSError
            Where a file cannot be written.
        """
        if not self.settings:
            raise ValueError("expected a recommended cluster, got none that keeps to the limits")
        for name, text in self.settings.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        cells = [("GPUs", "cluster", "strategy", "hours", "GPU-days", "money", "")]
        for candidate in self.ranking:
            times = candidate.times
            money = "" if times.money is None else f"{times.money:.4g}"
            cells.append(
                (
                    str(candidate.n_gpus),
                    f"{candidate.nodes} nodes of {candidate.cluster_type}",
                    candidate.strategy,
                    f"{times.wall_hours:.4g} to {times.wall_hours_high:.4g}",
                    f"{times.gpu_days:.4g}",
                    money,
                    "the best" if len(cells) == 1 else "",
                )
            )
        rows = ("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<p>{html.escape(repr(self))}</p><table>{''.join(rows)}</table>"

    def __repr__(self) -> str:
        best = self.best
        if best is None:
            known = "" if self.is_complete else " so far"
            return f"Recommendation(no cluster keeps to the limits{known})"
        times = best.times
        money = "" if times.money is None else f", costs {times.money:.4g}"
        where = f"{best.nodes} nodes of {best.cluster_type} ({best.n_gpus} GPUs), {best.strategy}"
        return f"Recommendation({where}: {times.wall_hours:.4g} h, {times.gpu_days:.4g} GPU-days{money})"


def recommend(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    gpus: Mapping[str, float | None] | Sequence[str],
    *,
    deadline_hours: float | None = None,
    budget: float | None = None,
    most_gpus: int | None = None,
    nodes: Sequence[int] | None = None,
    goal: str | None = None,
    set: Mapping[str, Any] | None = None,
    lengths: Any = None,
    simulate_all: bool = False,
    sensitivity: bool = False,
    time_limit_s: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Recommendation:
    """The best cluster that keeps to limits with 90 % confidence: what `packsim recommend` finds.

    Parameters
    ----------
    scenario, set
        As of `load_scenario()`.
    gpus
        Types of clusters with the price of a GPU-hour, `{"h100-sxm-80gb": 2.5}`, or without prices.
    deadline_hours, budget, most_gpus
        Limits, at least one.
    nodes
        Numbers of nodes to try; None for 1 to 128.
    goal
        "cheapest" or "fastest"; None for the cheapest with a deadline, else the fastest.
    lengths
        Token lengths in place of the scenario's files, as of `Scenario.with_lengths()`.
    simulate_all
        Whether clusters are simulated that cannot be the answer.
    sensitivity
        Whether the answer says what other links, memory and data would change, each planned anew.
    time_limit_s
        Seconds after which the answer is what is known by then; None for no limit. Its `is_complete` says
        whether it is that of all clusters.
    threads
        Number of clusters to simulate at the same time. The answer does not depend on it.
    progress
        As of `compare()`.

    Raises
    ------
    ScenarioError
        Where the scenario is refused on every cluster.
    ValueError
        For a question without limits, GPUs or sense.
    OSError
        Where a file cannot be read.
    """
    simulator = native()
    limits = {
        "deadline_hours": _positive("deadline_hours", deadline_hours),
        "budget": _positive("budget", budget),
        "most_gpus": None if most_gpus is None else integer_in("most_gpus", most_gpus, 1, 2**31 - 1),
    }
    if all(limit is None for limit in limits.values()):
        raise ValueError("expected at least one of deadline_hours, budget and most_gpus, got none")
    if goal is not None and goal not in _GOALS:
        raise ValueError(f"goal: expected one of {', '.join(_GOALS)}, got {described(goal)}")
    is_fastest = goal == "fastest" or (goal is None and deadline_hours is None)
    source, name = scenario_source(scenario)
    settings = given_settings(set)
    arrays = None if lengths is None else named_lengths(lengths)
    text, files, moves = simulator.recommend(
        source,
        name,
        settings,
        simulator.__file__,
        arrays,
        _offers(gpus),
        sorted({integer_in("nodes", n, 1, _MOST_NODES) for n in nodes or ()}),
        limits["most_gpus"],
        limits["deadline_hours"],
        limits["budget"],
        is_fastest,
        bool(simulate_all),
        bool(sensitivity),
        _positive("time_limit_s", time_limit_s),
        integer_in("threads", threads, 1, MOST_THREADS),
        progress,
    )
    moved = read_scenario(source, name, [*settings, *moves]) if moves else None
    if moved is not None and arrays is not None:
        moved = moved._with_arrays(arrays)
    return Recommendation(json.loads(text), moved, dict(files))


def _offers(gpus: Any) -> list[tuple[str, float | None]]:
    pairs = gpus.items() if isinstance(gpus, Mapping) else [(each, None) for each in gpus]
    offers = []
    for cluster_type, price in pairs:
        if not isinstance(cluster_type, str):
            raise ValueError(f"gpus: expected types of clusters, got {described(cluster_type)}")
        offers.append((cluster_type, _positive(f"gpus[{cluster_type!r}]", price)))
    return offers


def _positive(what: str, value: Any) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{what}: expected a number above 0, got {described(value)}")
    return float(value)
