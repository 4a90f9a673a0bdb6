"""Where the lengths of shards come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from packsim._arguments import Problems, described
from packsim.sharded.arguments import ShardArguments
from packsim.sharded.errors import ShardError
from packsim.sharded.shard import MOST_SHARDS, pack_shard

LengthsOfShards = Sequence[Any] | Callable[[int], Any]


def count_shards(shards: LengthsOfShards, n_shards: int | None) -> int:
    """ValueError unless shards are a sequence, or a callable with their number; files must be there."""
    problems = Problems()
    if callable(shards):
        count = problems.integer("n_shards", n_shards, 1, MOST_SHARDS)
    elif not isinstance(shards, Sequence) or isinstance(shards, (str, bytes)):
        what = "expected a sequence of length files or lengths, or a callable"
        problems.add(f"shards: {what}, got {described(shards)}")
        count = 0
    else:
        count = problems.integer("shards: number of them", len(shards), 1, MOST_SHARDS)
        if n_shards not in (None, len(shards)):
            problems.add(f"n_shards: expected {len(shards)}, as shards are given, or none, got {n_shards}")
        for shard, one in enumerate(shards):
            if isinstance(one, (str, os.PathLike)) and not Path(one).is_file():
                problems.add(f"shard {shard}: expected a length file {os.fspath(one)}, found none")
    problems.raise_if_any()
    return count


def pack_shard_of(
    source: Any, arguments: ShardArguments, folder: str | os.PathLike[str], shard: int
) -> dict[str, Any]:
    """pack_shard() of a length file (.npy or .npz), a `packsim.lengths.Lengths`, lengths, or a callable that
    gives any of these for the number of the shard."""
    lengths = source
    try:
        if callable(lengths):
            lengths = lengths(shard)
        if isinstance(lengths, (str, os.PathLike)):
            from packsim.lengths.result import Lengths

            lengths = Lengths.load(lengths)
    except ValueError as error:
        raise ShardError(f"shard {shard}: {error}") from error
    loss_tokens = getattr(lengths, "loss_spans", None)
    tokens = getattr(lengths, "lengths_tokens", lengths)
    return pack_shard(tokens, arguments, folder=folder, shard=shard, loss_tokens=loss_tokens)
