"""Grids of scenarios."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from packsim._arguments import described, index_of, integer_in
from packsim.simulator.grid_source import grid_source
from packsim.simulator.scenario import Scenario
from packsim.sweeps import Sweep, read_sweep

Progress = Callable[[int, int, float, float], object]
Axis = Mapping[str, Any]

_MOST_THREADS = 1024


def sweep(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    vary: Axis | Sequence[str] | None = None,
    *,
    zipped: Axis | Sequence[Axis] | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    lengths: Any = None,
    out: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
    merge: Sequence[str | os.PathLike[str]] = (),
    threads: int = 0,
    progress: Progress | None = None,
) -> Sweep:
    """Simulate a grid of scenarios: what `packsim sweep` does, with the same points to the last bit.

    Other Python threads run meanwhile. Ctrl-C ends it within moments; points that are done are in the
    database then, and the same call goes on with the others.

    Parameters
    ----------
    scenario
        A `Scenario`, or what `load_scenario()` takes; or a grid (docs/sweep.md) as a path or mapping.
    vary
        Keys of the scenario, or "strategy", with their values: `{"cluster.nodes": [1, 2, 4]}`. Values may be
        a range, too, `{"from": 1, "to": 16, "factor": 2}`. Each key is an axis of the grid, after those of
        the grid's file; axes are crossed. A sequence has texts as `--vary` of the program takes them.
    zipped
        A mapping as `vary`, of which the keys change together, or several of them.
    set
        What every point has, as of `load_scenario()`; or texts as `--set` of the program takes them.
    lengths
        Token lengths in place of the scenario's files, as of `Scenario.with_lengths()`.
    out
        The database; if it is there already, its points are not computed again. None: a temporary one.
    shard
        (2, 8): only every eighth scenario of the grid from the second on, for a database of its own.
    merge
        Databases, such as those of shards, whose points are taken before what is missing is computed.
    threads
        Number of scenarios to simulate at the same time, 0 for one on each core. Points do not depend on it.
    progress
        Called on the calling thread after each scenario with the number of points that this call has computed
        and has to compute, points a second, and the seconds left. An exception of it ends the sweep as Ctrl-C
        does.

    Returns
    -------
    Sweep
        All points that the database has.

    Raises
    ------
    ScenarioError
        For mistakes in the grid, and in its scenario without the varied keys. Scenarios that are refused with
        the varied keys are points with a reason.
    ValueError
        For a database of another sweep, or one that another sweep is writing.
    OSError
        Where a file cannot be read or written.
    """
    n_threads = integer_in("threads", threads, 0, _MOST_THREADS)
    part = _shard_text(shard)
    merged = [os.fspath(path) for path in merge]
    source, arrays = grid_source(scenario, vary, zipped, set, lengths)
    grid = source.read(arrays)
    if out is not None:
        grid.run(os.fspath(out), part, merged, None, n_threads, progress)
        return read_sweep(out)
    with tempfile.TemporaryDirectory(prefix="packsim-sweep-") as folder:
        database = os.path.join(folder, "sweep.db")
        grid.run(database, part, merged, None, n_threads, progress)
        return read_sweep(database)


def _shard_text(shard: Any) -> str:
    if shard is None:
        return ""
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise ValueError(f"shard: expected (i, n) with i from 1 to n, such as (2, 8), got {described(shard)}")
    return "/".join(str(index_of("shard", number)) for number in shard)
