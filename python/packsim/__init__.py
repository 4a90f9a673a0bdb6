"""Packing of mixed-length training samples, and the simulator of what a packing costs.

>>> import numpy, packsim
>>> packing = packsim.pack(numpy.array([5, 3, 2, 7, 4]), strategy="ffd", capacity_tokens=10)
>>> [samples.tolist() for samples in packing.groups[0]]
[[3, 1], [0, 4], [2]]

Arguments that are wrong raise ValueError: all of them at once, with what was expected and what came.

`compare()`, `simulate()`, `plan_of()`, `recommend()` and `sweep()` run the simulator, in a package that was
built with it (docs/python.md).
"""

from typing import TYPE_CHECKING, Any

from packsim._balance import Balance, balance
from packsim._core import version as __version__
from packsim._lengths_array import LengthsLike
from packsim._loss_spans import LossSpans
from packsim._make_plan import make_plan
from packsim._micro_batch import MicroBatch
from packsim._mixing_policies import MixingPolicy, mixing_policies
from packsim._mixture import Mixture, MixtureCounts, MixtureDraws, MixtureProbabilities
from packsim._mixture_arms import quantile_groups
from packsim._normalisers import LossBias, Normaliser, normalisers
from packsim._options import Option, options
from packsim._pack import pack
from packsim._packing import PackCounts, PackGroup, Packing, PackStatistics
from packsim._plan import Plan, PlanGroup
from packsim._repacked_plan import RepackedPlan
from packsim._strategies import Strategy, strategies
from packsim._stream_packer import StreamPacker
from packsim._stream_packs import StreamCounts, StreamPacks
from packsim._window_quality import WindowQuality, window_quality
from packsim.streaming import stream_packs

if TYPE_CHECKING:
    from packsim.simulator import (
        Recommendation,
        Report,
        Run,
        Scenario,
        ScenarioError,
        compare,
        load_scenario,
        plan_of,
        recommend,
        simulate,
        sweep,
    )
else:

    def __getattr__(name: str) -> Any:
        # What is not here yet is the simulator's. Who only packs is not to wait for it.
        if name not in __all__:
            raise AttributeError(f"module 'packsim' has no attribute {name!r}")
        import importlib

        value = getattr(importlib.import_module("packsim.simulator"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "Balance",
    "LengthsLike",
    "LossBias",
    "LossSpans",
    "MicroBatch",
    "MixingPolicy",
    "Mixture",
    "MixtureCounts",
    "MixtureDraws",
    "MixtureProbabilities",
    "Normaliser",
    "Option",
    "PackCounts",
    "PackGroup",
    "PackStatistics",
    "Packing",
    "Plan",
    "PlanGroup",
    "Recommendation",
    "RepackedPlan",
    "Report",
    "Run",
    "Scenario",
    "ScenarioError",
    "Strategy",
    "StreamCounts",
    "StreamPacker",
    "StreamPacks",
    "WindowQuality",
    "__version__",
    "balance",
    "compare",
    "load_scenario",
    "make_plan",
    "mixing_policies",
    "normalisers",
    "options",
    "pack",
    "plan_of",
    "quantile_groups",
    "recommend",
    "simulate",
    "strategies",
    "stream_packs",
    "sweep",
    "window_quality",
]
