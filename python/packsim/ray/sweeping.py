"""sweep(): a grid of scenarios on a Ray cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packsim._arguments import Problems
from packsim.ray._ray import import_ray, raise_failures, results_of
from packsim.simulator.grid_source import Arrays, GridSource, grid_source
from packsim.simulator.scenario import Scenario
from packsim.sweeps import Sweep, read_sweep

if TYPE_CHECKING:
    from packsim import _simulator

Progress = Callable[[int, int], object]
Axis = Mapping[str, Any]

_SHARDS_PER_CPU = 4  # so that the last ones do not keep a whole cluster waiting


def sweep(
    grid: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    *,
    out: str | os.PathLike[str],
    vary: Axis | Sequence[str] | None = None,
    zipped: Axis | Sequence[Axis] | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    lengths: Any = None,
    merge: Sequence[str | os.PathLike[str]] = (),
    n_shards: int | None = None,
    retries: int = 3,
    cpus_per_shard: float = 1.0,
    progress: Progress | None = None,
) -> Sweep:
    """Do what `packsim.sweep()` does, with parts of the grid as Ray tasks.

    The tasks run on the cluster that `ray.init()` has connected this process to, else on that of the
    environment's RAY_ADDRESS, else on this machine. Every node has this package with the simulator, and the
    files that the grid names, relative paths from the folder of this process. Points are in the database as
    soon as their part is done: call it again after a failure. They do not depend on the cluster or the number
    of parts.

    Parameters
    ----------
    grid, vary, zipped, set, merge
        As of `packsim.sweep()`.
    out : path
        The database, which only this process writes.
    lengths
        As of `packsim.sweep()`. They are put into Ray's object store once, and the tasks of a node read them
        there.
    n_shards : int, optional
        Parts of the grid, of whole scenarios; four for each CPU of the cluster if not given. Scenarios with
        the same packs are in one part, or in parts that follow each other.
    retries : int
        How often a part is begun again after its worker or node died.
    cpus_per_shard
        What Ray reserves for a task, which uses one thread.
    progress : callable, optional
        Called with the parts done so far, and all that this call has to compute.

    Raises
    ------
    ScenarioError, ValueError, OSError
        As `packsim.sweep()`.
    RuntimeError
        For parts whose workers died more often than `retries`.
    """
    with Problems() as problems:
        retries = problems.integer("retries", retries, 0, 1000)
        if n_shards is not None:
            n_shards = problems.integer("n_shards", n_shards, 1, 1_000_000)
    source, arrays = grid_source(grid, vary, zipped, set, lengths)
    read = source.read(arrays)
    ray = import_ray()
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    if n_shards is None:
        n_shards = _SHARDS_PER_CPU * max(1, int(ray.cluster_resources().get("CPU", 1)))
    database = read.open(os.fspath(out))
    try:
        for path in merge:
            database.merge(os.fspath(path))
        parts = database.missing_parts(n_shards)
        task = ray.remote(num_cpus=cpus_per_shard, max_retries=retries)(_shard)
        stored = ray.put(arrays) if parts else None
        tasks = {task.remote(source, stored, os.getcwd(), jobs): part for part, jobs in enumerate(parts, 1)}
        _take_points(tasks, database, progress)
    finally:
        database.close()
    return read_sweep(out)


def _take_points(tasks: dict[Any, int], database: _simulator.GridDatabase, progress: Progress | None) -> None:
    """Wait for the tasks, by number of their part, and take the points of each when it is done."""
    failures: dict[int, BaseException] = {}
    with closing(results_of(tasks, failures)) as results:
        for n_done, (_, (content, mistake)) in enumerate(results, 1):
            if mistake is not None:  # all parts have it
                raise mistake
            _merge(database, content)
            if progress is not None:
                progress(n_done, len(tasks))
    raise_failures(failures, "not computed")


def _merge(database: _simulator.GridDatabase, content: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="packsim-sweep-") as folder:
        file = Path(folder) / "shard.db"
        file.write_bytes(content)
        database.merge(str(file))


def _shard(
    source: GridSource, arrays: Arrays | None, folder: str, jobs: list[int]
) -> tuple[bytes, Exception | None]:
    """Returns, in a task, a database with these jobs of the grid, or what is wrong on this node."""
    with _in_folder(folder), tempfile.TemporaryDirectory(prefix="packsim-sweep-") as place:
        database = Path(place) / "shard.db"
        try:
            source.read(arrays).run(str(database), "", [], jobs, 1, None)
        except (ValueError, OSError) as mistake:
            return b"", mistake
        return database.read_bytes(), None


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """Tasks have a working directory of their own. On a node without the folder no path from it is of use."""
    before = os.getcwd()
    if os.path.isdir(folder):
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
