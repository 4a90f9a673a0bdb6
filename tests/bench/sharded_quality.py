"""Fill of shards packed alone, of the same joined, and of one call on all samples: a table in Markdown.

python tests/bench/sharded_quality.py
"""

from __future__ import annotations

import tempfile
from dataclasses import replace

import numpy as np
from sharded_packing import lengths_of

import packsim
from packsim.sharded import ShardArguments, join_shards, pack_shard


def row(n_shards: int, shard_samples: int, arguments: ShardArguments) -> str:
    shards = [lengths_of(shard, shard_samples) for shard in range(n_shards)]
    cells = [f"{n_shards} x {shard_samples}", f"{arguments.capacity_tokens}"]
    n_above: list[int] = []
    for below in (0.0, arguments.leftover_below_fraction):
        with tempfile.TemporaryDirectory() as folder:
            used = replace(arguments, leftover_below_fraction=below)
            for shard, lengths in enumerate(shards):
                pack_shard(lengths, used, folder=folder, shard=shard)
            packs = join_shards(folder, n_shards)
            cells.append(f"{packs.fill_fraction:.5f}")
            n_above.append(packs.packs_above_bound)
    packing = arguments.pack(np.concatenate(shards))
    n_tokens = int(packing.groups[0].tokens.sum(dtype=np.int64))
    cells.append(f"{packing.statistics.fill_fraction:.5f}")
    n_above.append(packing.n_packs - -(-n_tokens // arguments.capacity_tokens))
    return "| " + " | ".join([*cells, " / ".join(map(str, n_above)), str(packing.n_packs)]) + " |"


def main() -> None:
    print(packsim.__version__)
    for capacity in (4096, 131_072):
        for shard_samples in (1000, 20_000, 100_000):
            print(row(64, shard_samples, ShardArguments("bfd", capacity, over_long="truncate")))


if __name__ == "__main__":
    main()
