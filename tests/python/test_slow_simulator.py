"""Every shipped scenario gives the same report from Python as from the program, to the byte."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cases import REPOSITORY
from simulated import program_report, without_timings

import packsim

# Without it, the baseline of each scenario alone is compared, which takes a tenth of the time.
_IS_WHOLE = os.environ.get("PACKSIM_TEST_WHOLE_SCENARIOS") == "1"


def shipped() -> list[str]:
    return sorted(path.stem for path in (REPOSITORY / "scenarios").glob("*.json"))


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_gives_the_report_of_the_program(name: str, tmp_path: Path) -> None:
    scenario = packsim.load_scenario(name)
    strategies = [] if _IS_WHOLE else [scenario.baseline]
    words = [word for strategy in strategies for word in ("--strategy", strategy)]
    with ThreadPoolExecutor() as pool:
        program = pool.submit(program_report, tmp_path, "compare", name, *words)
        report = packsim.compare(scenario, strategies)
        expected = program.result()
    assert without_timings(report.to_json()) == without_timings(expected)
    assert len(json.loads(expected)["runs"]) == (len(scenario.strategies) if _IS_WHOLE else 1)
