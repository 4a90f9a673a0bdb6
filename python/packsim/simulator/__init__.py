"""The simulator: what `packsim compare`, `run`, `recommend` and `sweep` do, on values instead of files.

Needs a package that was built with it: `PACKSIM_PROGRAM=1 pip install .`
"""

from packsim.simulator.errors import ScenarioError as ScenarioError
from packsim.simulator.recommending import Recommendation as Recommendation
from packsim.simulator.recommending import recommend as recommend
from packsim.simulator.records import Record as Record
from packsim.simulator.report import Report as Report
from packsim.simulator.report import Run as Run
from packsim.simulator.runs import compare as compare
from packsim.simulator.runs import plan_of as plan_of
from packsim.simulator.runs import simulate as simulate
from packsim.simulator.scenario import Scenario as Scenario
from packsim.simulator.scenario import load_scenario as load_scenario
from packsim.simulator.sweeping import sweep as sweep
