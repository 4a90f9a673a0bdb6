"""pack_shards(): all shards of a data set on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from typing import Any

from packsim._arguments import integer_in
from packsim.ray._ray import import_ray, raise_failures, results_of
from packsim.sharded import ShardArguments, ShardedPacks, ShardError, join_shards, pack_shard_of
from packsim.sharded.lengths_of_shards import LengthsOfShards, count_shards

Progress = Callable[[int, int], None]


def pack_shards(
    shards: LengthsOfShards,
    arguments: ShardArguments,
    *,
    folder: str | os.PathLike[str],
    n_shards: int | None = None,
    retries: int = 3,
    cpus_per_shard: float = 1.0,
    memory_per_shard_bytes: int | None = None,
    progress: Progress | None = None,
) -> ShardedPacks:
    """Pack every shard as a Ray task, and join them.

    The tasks run on the cluster that `ray.init()` has connected this process to, else on that of the
    environment's RAY_ADDRESS, else on this machine. Shards that the folder has already, packed with these
    arguments from these lengths, are not packed again: call it again after a failure. The result does not
    depend on the cluster.

    Parameters
    ----------
    shards : sequence, or callable
        For each shard its length file (.npy, or .npz with loss tokens), a `packsim.lengths.Lengths` or an
        array; or a function from the number of a shard to one of these, which runs in the task.
    arguments : ShardArguments
    folder : path
        Shared by all nodes. Files of lengths must be, too.
    n_shards : int, optional
        Required for a callable.
    retries : int
        How often a shard is begun again after its worker or node died, or could not read or write.
    cpus_per_shard, memory_per_shard_bytes
        What Ray reserves for a task.
    progress : callable, optional
        Called with the shards done so far, and all of them.

    Raises
    ------
    ShardError
        For shards that cannot be packed: all of them, which samples, what was expected and what came. The
        other shards are packed all the same.
    RuntimeError
        For shards whose workers died, or that could not read or write, more often than `retries`.
    """
    retries = integer_in("retries", retries, 0, 1000)
    count = count_shards(shards, n_shards)
    ray = import_ray()
    os.makedirs(folder, exist_ok=True)
    place = os.path.abspath(folder)
    options: dict[str, Any] = {"max_retries": retries, "retry_exceptions": [OSError]}
    if memory_per_shard_bytes is not None:
        options["memory"] = memory_per_shard_bytes
    task = ray.remote(num_cpus=cpus_per_shard, **options)(_pack_shard)
    # Workers have a working directory of their own.
    sources = [shards if callable(shards) else _absolute(shards[shard]) for shard in range(count)]
    tasks = {task.remote(source, arguments, place, shard): shard for shard, source in enumerate(sources)}
    mistakes: dict[int, str] = {}
    failures: dict[int, BaseException] = {}
    n_done = 0
    with closing(results_of(tasks, failures)) as results:
        for shard, mistake in results:
            if mistake is not None:
                mistakes[shard] = mistake
                continue
            n_done += 1
            if progress is not None:
                progress(n_done, count)
    texts = [mistakes[shard] for shard in sorted(mistakes)]
    raise_failures(failures, "not packed", texts)
    if texts:
        raise ShardError("\n".join(texts))
    return join_shards(place, count)


def _absolute(source: Any) -> Any:
    return os.path.abspath(source) if isinstance(source, (str, os.PathLike)) else source


def _pack_shard(source: Any, arguments: ShardArguments, folder: str, shard: int) -> str | None:
    """Returns, in a task, what is wrong with the shard, or None if it is packed."""
    try:
        pack_shard_of(source, arguments, folder, shard)
    except ValueError as error:
        return str(error)
    return None
