"""Reports of simulated runs."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packsim._frames import Column, Table
from packsim._plan import Plan
from packsim.simulator.records import Record
from packsim.simulator.scenario import Scenario

if TYPE_CHECKING:
    from packsim import _simulator
    from packsim.charts import Charts


class Run(Record):
    """The result of one strategy: a member of `runs` in report.json, such as `run.gpu_days`.

    Attributes
    ----------
    report : Report
        That it is part of.
    """

    def __init__(self, members: dict[str, Any], report: Report) -> None:
        super().__init__(members, f"run {members['name']}")
        self.report = report

    def plan(self, normaliser: str | None = None) -> Plan:
        """The run's schedule, which `packsim.torch` and the trainers take: see `plan_of()`.

        It is packed again, which gives the same packs.
        """
        return self.report.scenario._plan(self["name"], normaliser, None)

    def __repr__(self) -> str:
        if self["gpu_days"] is None:
            return f"Run({self['name']}: {self['failure'] or 'does not fit in memory'})"
        return f"Run({self['name']}: {self['gpu_days']:.4g} GPU-days, {self['wall_hours']:.4g} h)"

    def _repr_html_(self) -> str | None:
        return self.report._repr_html_() if len(self.report.runs) == 1 else None


_MEMBERS = frozenset(
    ("manifest", "lengths", "timings", "bounds", "baseline")
)  # of report.json, beside the runs


class Report(Table):
    """What `packsim compare` reports. A notebook shows its verdict and a comparison of its runs.

    Attributes
    ----------
    scenario : Scenario
        That was simulated.
    manifest, lengths, timings : Record
    bounds : tuple of Record
    baseline : str
        As in report.json (docs/report.md).
    runs : tuple of Run
        In the order of the scenario. `report["hbp"]` is the run of that name.
    """

    manifest: Record
    lengths: Record
    timings: Record
    bounds: tuple[Record, ...]
    baseline: str

    def __init__(self, core: _simulator.Report, scenario: Scenario) -> None:
        self._core = core
        self.scenario = scenario

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    def __getattr__(self, name: str) -> Any:
        if name not in _MEMBERS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return Record(self._document, "report")[name]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return tuple(Run(members, self) for members in self._document["runs"])

    def __getitem__(self, name: str) -> Run:
        for run in self.runs:
            if run["name"] == name:
                return run
        raise KeyError(f"expected one of {', '.join(run['name'] for run in self.runs)}, got {name!r}")

    def to_json(self) -> str:
        """report.json, which only `timings` makes different from that of the program."""
        return self._core.to_json()

    def _columns(self) -> list[Column]:
        """Those of report.csv."""
        return self._core.columns()

    def charts(self, *, width_px: int = 900) -> Charts:
        """The charts of the report's page as Altair objects: see `packsim.charts.load()`."""
        from packsim import charts

        return charts.of_document(json.loads(self._core.charts_json()), Path("report"), width_px)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write report.json, report.csv, report.html and charts.json, as the program does.

        Raises
        ------
        OSError
            Where a file cannot be written.
        """
        self._core.save(os.fspath(folder))

    def __repr__(self) -> str:
        lines = [f"Report({self.manifest.scenario_name}, baseline {self.baseline}"]
        return "\n  ".join([*lines, *map(repr, self.runs)]) + ")"

    def _repr_html_(self) -> str:
        return self._core.notebook_html()
