"""Data sets that outgrow one machine, on a Ray cluster: `measure()` their lengths, and `pack_shards()`.

Ray itself is imported when one of them is called: `pip install packsim[ray]`.
"""

from packsim.ray.measuring import measure
from packsim.ray.packing import pack_shards

__all__ = ["measure", "pack_shards"]
