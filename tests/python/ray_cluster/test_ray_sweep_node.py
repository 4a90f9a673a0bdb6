"""A node that dies in the middle of a sweep: every point is there once all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from ray_cases import two_nodes
from simulated import PROGRAM
from swept import VARIED, points_alone, rows, write_job

ray = pytest.importorskip("ray")
if not PROGRAM.exists():
    pytest.skip("this environment is without the simulator", allow_module_level=True)

from packsim.ray import sweep  # noqa: E402


def test_a_node_that_dies_loses_nothing(tmp_path: Path) -> None:
    job = write_job(tmp_path)
    alone = points_alone(job)
    n_removed = 0
    with two_nodes() as cluster:

        def remove_node(done: int, total: int) -> None:
            nonlocal n_removed
            if n_removed == 0 and done < total:
                cluster.remove_node(*cluster.worker_nodes, allow_graceful=False)
                n_removed = 1

        sweep(job, out=tmp_path / "s.db", vary=VARIED, n_shards=8, progress=remove_node)
    assert n_removed == 1
    assert rows(tmp_path / "s.db") == alone
