"""The simulator: what `packsim compare`, `run`, `recommend` and `sweep` do, on values instead of files.

Needs a package that was built with it: `PACKSIM_PROGRAM=1 pip install .`
"""

from packsim.simulator.errors import ScenarioError
from packsim.simulator.recommending import Recommendation, recommend
from packsim.simulator.records import Record
from packsim.simulator.report import Report, Run
from packsim.simulator.runs import compare, plan_of, simulate
from packsim.simulator.scenario import Scenario, load_scenario
from packsim.simulator.sweeping import sweep

__all__ = [
    "Recommendation",
    "Record",
    "Report",
    "Run",
    "Scenario",
    "ScenarioError",
    "compare",
    "load_scenario",
    "plan_of",
    "recommend",
    "simulate",
    "sweep",
]
