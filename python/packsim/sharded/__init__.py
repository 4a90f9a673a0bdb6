"""Data sets in shards, on any number of machines: packed where they are, joined, dealt to ranks.

`pack_shard()` packs one shard into files of a shared folder, in any process of any scheduler; `packsim.ray`
runs it on a cluster. `join_shards()` writes the manifest, and `ShardedPlan` shares the packs out.
"""

from packsim.sharded.arguments import ShardArguments
from packsim.sharded.dataset import ShardedDataset
from packsim.sharded.errors import DamagedFileError, ShardError
from packsim.sharded.join import join_shards
from packsim.sharded.lengths_of_shards import pack_shard_of
from packsim.sharded.packs import ShardedPacks
from packsim.sharded.pieces import PackArrays
from packsim.sharded.plan import EpochCounts, ShardedPlan
from packsim.sharded.shard import pack_shard

__all__ = [
    "DamagedFileError",
    "EpochCounts",
    "PackArrays",
    "ShardArguments",
    "ShardError",
    "ShardedDataset",
    "ShardedPacks",
    "ShardedPlan",
    "join_shards",
    "pack_shard",
    "pack_shard_of",
]
