"""Packing of mixed-length training samples, by the core that the `packsim` simulator packs with.

>>> import numpy, packsim
>>> packing = packsim.pack(numpy.array([5, 3, 2, 7, 4]), strategy="ffd", capacity_tokens=10)
>>> [samples.tolist() for samples in packing.groups[0]]
[[3, 1], [0, 4], [2]]
"""

from packsim._balance import Balance, balance
from packsim._core import version as __version__
from packsim._lengths_array import LengthsLike
from packsim._loss_spans import LossSpans
from packsim._make_plan import make_plan
from packsim._micro_batch import MicroBatch
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

__all__ = [
    "Balance",
    "LengthsLike",
    "LossBias",
    "LossSpans",
    "MicroBatch",
    "Normaliser",
    "Option",
    "PackCounts",
    "PackGroup",
    "PackStatistics",
    "Packing",
    "Plan",
    "PlanGroup",
    "RepackedPlan",
    "Strategy",
    "StreamCounts",
    "StreamPacker",
    "StreamPacks",
    "WindowQuality",
    "__version__",
    "balance",
    "make_plan",
    "normalisers",
    "options",
    "pack",
    "strategies",
    "stream_packs",
    "window_quality",
]
