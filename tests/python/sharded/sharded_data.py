"""Shards that tests of packsim.sharded share, and a naive account of what must be in packs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim.sharded import ShardArguments, ShardedPacks, join_shards, pack_shard

ARGUMENTS = ShardArguments("bfd", 64, over_long="truncate")


def drawn(sizes: list[int], seed: int = 1, longest_tokens: int = 80) -> list[NDArray[np.int32]]:
    """Lengths of each shard, some of them 0."""
    generator = np.random.default_rng(seed)
    return [generator.integers(0, longest_tokens + 1, n).astype(np.int32) for n in sizes]


def packed(
    folder: Path, shards: list[NDArray[np.int32]], arguments: ShardArguments = ARGUMENTS
) -> ShardedPacks:
    for shard, lengths in enumerate(shards):
        pack_shard(lengths, arguments, folder=folder, shard=shard)
    return join_shards(folder, len(shards))


def pieces(packs: ShardedPacks) -> list[tuple[int, int, int]]:
    """(sample id, start, tokens) of all packs, sorted."""
    found: list[tuple[int, int, int]] = []
    for pack in packs:
        n = len(pack.samples)
        starts = np.zeros(n, int) if pack.starts_tokens is None else pack.starts_tokens
        found += zip(pack.samples.tolist(), starts.tolist(), pack.tokens.tolist(), strict=True)
    return sorted(found)


def naive_pieces(lengths: NDArray[Any], capacity: int, over_long: str) -> list[tuple[int, int, int]]:
    """What each policy makes of every sample, written down again; empty samples are dropped."""
    found = []
    for sample, tokens in enumerate(lengths.tolist()):
        if tokens <= capacity or over_long == "own_pack":
            parts = [(0, tokens)]
        elif over_long == "drop":
            parts = []
        elif over_long == "truncate":
            parts = [(0, capacity)]
        else:
            parts = [(start, min(capacity, tokens - start)) for start in range(0, tokens, capacity)]
        found += [(sample, start, n) for start, n in parts if n > 0]
    return found
