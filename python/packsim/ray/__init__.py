"""What outgrows one machine, on a Ray cluster: `measure()` lengths, `pack_shards()`, `sweep()` scenarios.

Ray itself is imported when one of them is called: `pip install packsim[ray]`.
"""

from packsim.ray.measuring import measure
from packsim.ray.packing import pack_shards
from packsim.ray.sweeping import sweep

__all__ = ["measure", "pack_shards", "sweep"]
