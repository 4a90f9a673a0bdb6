"""Data sets in shards, on any number of machines: packed where they are, joined, dealt to ranks.

`pack_shard()` packs one shard into files of a shared folder, in any process of any scheduler; `packsim.ray`
runs it on a cluster. `join_shards()` writes the manifest, and `ShardedPlan` shares the packs out.
"""

from packsim.sharded.arguments import ShardArguments as ShardArguments
from packsim.sharded.dataset import ShardedDataset as ShardedDataset
from packsim.sharded.errors import DamagedFileError as DamagedFileError
from packsim.sharded.errors import ShardError as ShardError
from packsim.sharded.join import join_shards as join_shards
from packsim.sharded.lengths_of_shards import pack_shard_of as pack_shard_of
from packsim.sharded.packs import ShardedPacks as ShardedPacks
from packsim.sharded.pieces import PackArrays as PackArrays
from packsim.sharded.plan import EpochCounts as EpochCounts
from packsim.sharded.plan import ShardedPlan as ShardedPlan
from packsim.sharded.shard import pack_shard as pack_shard
