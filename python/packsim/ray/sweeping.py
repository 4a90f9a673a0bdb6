"""sweep(): a grid of scenarios on a Ray cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

from packsim._arguments import Problems
from packsim._program import run_program
from packsim._whole_file import whole_file
from packsim.ray._ray import import_ray
from packsim.sweeps import Sweep, read_sweep

Progress = Callable[[int, int], None]

_LOOK_S = 1.0  # between looks at which tasks have ended
_SHARDS_PER_CPU = 4  # so that the last ones do not keep a whole cluster waiting


def sweep(
    grid: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    vary: Sequence[str] = (),
    set: Sequence[str] = (),
    n_shards: int | None = None,
    retries: int = 3,
    cpus_per_shard: float = 1.0,
    progress: Progress | None = None,
) -> Sweep:
    """Run `packsim sweep` with its shards as Ray tasks, and join them in one database.

    The tasks run on the cluster that `ray.init()` has connected this process to, else on that of the
    environment's RAY_ADDRESS, else on this machine. Every node has this package with the simulator, and the
    files that the grid names. Shards that are done lie in the folder `out`.shards until all are: call it
    again after a failure. The points do not depend on the cluster or the number of shards.

    Parameters
    ----------
    grid : path
        A grid file or a scenario, or the name of a shipped scenario (docs/sweep.md).
    out : path
        The database, which only this process writes.
    vary, set : sequence of str
        What `--vary` and `--set` of the program take.
    n_shards : int, optional
        Parts of the grid, of whole scenarios; four for each CPU of the cluster if not given. It has to be the
        same when the call is repeated.
    retries : int
        How often a shard is begun again after its worker or node died.
    cpus_per_shard
        What Ray reserves for a task, which uses one thread.
    progress : callable, optional
        Called with the shards done so far, and all of them.

    Raises
    ------
    ValueError
        With the messages of the program, for mistakes in the grid or its scenario.
    RuntimeError
        For shards whose workers died more often than `retries`, or that could not read or write.
    """
    problems = Problems()
    retries = problems.integer("retries", retries, 0, 1000)
    if n_shards is not None:
        n_shards = problems.integer("n_shards", n_shards, 1, 1_000_000)
    problems.raise_if_any()
    words = [*_place(os.fspath(grid)), *_options("--vary", vary), *_options("--set", set)]
    ray = import_ray()
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    if n_shards is None:
        n_shards = _SHARDS_PER_CPU * max(1, int(ray.cluster_resources().get("CPU", 1)))
    folder = Path(f"{os.fspath(out)}.shards")
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{shard}-of-{n_shards}.db" for shard in range(1, n_shards + 1)]
    missing = [shard for shard, file in enumerate(files, start=1) if not file.exists()]
    _run_shards(ray, words, files, missing, retries, cpus_per_shard, progress)
    merged = [word for file in files for word in ("--merge", str(file))]
    _run_sweep([*words, "--out", os.fspath(out), *merged])
    rmtree(folder)
    return read_sweep(out)


def _run_shards(
    ray: Any,
    words: list[str],
    files: list[Path],
    missing: list[int],
    retries: int,
    cpus_per_shard: float,
    progress: Progress | None,
) -> None:
    task = ray.remote(num_cpus=cpus_per_shard, max_retries=retries)(_shard)
    waiting = {task.remote(words, shard, len(files)): shard for shard in missing}
    failures: dict[int, BaseException] = {}
    n_done = len(files) - len(missing)
    while waiting:
        ended, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=_LOOK_S)
        for task_of_shard in ended:
            shard = waiting.pop(task_of_shard)
            try:
                content, mistake = ray.get(task_of_shard)
            except Exception as error:  # of Ray: the worker died
                failures[shard] = error
                continue
            if mistake is not None:  # all shards have it
                raise mistake
            with whole_file(files[shard - 1]) as file:
                file.write(content)
            n_done += 1
            if progress is not None:
                progress(n_done, len(files))
    if failures:
        texts = [
            f"shard {shard}: not computed, call again to go on: {type(error).__name__}: {error!s:.300}"
            for shard, error in sorted(failures.items())
        ]
        raise RuntimeError("\n".join(texts)) from next(iter(failures.values()))


def _place(grid: str) -> list[str]:
    # Tasks have a working directory of their own.
    return [os.path.abspath(grid) if os.path.exists(grid) else grid]


def _options(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _shard(words: list[str], shard: int, n_shards: int) -> tuple[bytes, Exception | None]:
    """In a task: the database of the shard, or what is wrong with the grid."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "shard.db"
        chosen = ["--shard", f"{shard}/{n_shards}", "--threads", "1"]
        try:
            _run_sweep([*words, "--out", str(database), *chosen])
        except (ValueError, RuntimeError) as mistake:
            return b"", mistake
        return database.read_bytes(), None


def _run_sweep(words: list[str]) -> None:
    run_program("packsim.ray.sweep()", "sweep", *words)
