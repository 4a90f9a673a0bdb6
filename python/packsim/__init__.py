"""Packing of mixed-length training samples, by the core that the `packsim` simulator packs with.

>>> import numpy, packsim
>>> packing = packsim.pack(numpy.array([5, 3, 2, 7, 4]), strategy="ffd", capacity_tokens=10)
>>> [samples.tolist() for samples in packing.groups[0]]
[[3, 1], [0, 4], [2]]
"""

from packsim._core import version as __version__
from packsim._lengths_array import LengthsLike
from packsim._pack import pack
from packsim._packing import PackCounts, PackGroup, Packing, PackStatistics
from packsim._strategies import Strategy, strategies

__all__ = [
    "LengthsLike",
    "PackCounts",
    "PackGroup",
    "PackStatistics",
    "Packing",
    "Strategy",
    "__version__",
    "pack",
    "strategies",
]
