"""Schedules of a scenario's strategies."""

from __future__ import annotations

from typing import Any

from packsim._normalisers import find_normaliser, normalisers
from packsim._plan import Plan
from packsim.simulator.native import native
from packsim.simulator.scenario import Scenario


def plan_of_strategy(scenario: Scenario, strategy: str, normaliser: str | None, progress: Any) -> Plan:
    rule = normalisers()[0] if normaliser is None else find_normaliser(normaliser)
    return Plan.from_bytes(native().schedule_file(scenario._core, strategy, rule.name, progress))
