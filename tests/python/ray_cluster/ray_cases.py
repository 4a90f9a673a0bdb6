"""A Ray cluster of two local nodes, which tests of packsim.ray share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np


def lengths_of(shard: int) -> Any:
    return np.random.default_rng(shard).integers(0, 70, 500).astype(np.int32)


def fragile(shard: int, folder: str, kills: int) -> Any:
    """Kills the worker of shard 2, so many times; every begin of a shard leaves a file."""
    n_begun = len(list(Path(folder).glob(f"begun-{shard}-*")))
    (Path(folder) / f"begun-{shard}-{n_begun}").touch()
    if shard == 2 and n_begun < kills:
        os._exit(1)
    return lengths_of(shard)


def unreadable(shard: int, folder: str, times: int) -> Any:
    """The file system fails for shard 1, so many times."""
    n_begun = len(list(Path(folder).glob(f"begun-{shard}-*")))
    (Path(folder) / f"begun-{shard}-{n_begun}").touch()
    if shard == 1 and n_begun < times:
        raise OSError(5, "Input/output error", "lengths.npy")
    return lengths_of(shard)


@contextmanager
def two_nodes() -> Iterator[Any]:
    """The cluster, a ray.cluster_utils.Cluster, to which this process is connected."""
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80_000_000}
    # Else workers wait for whatever else the machine does.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    # Workers find the modules of tests, and the package where it is not installed.
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    started = Cluster(initialize_head=True, head_node_args=node | {"include_dashboard": False})
    try:
        started.add_node(**node)
        ray.init(address=started.address, log_to_driver=False)
        assert len([one for one in ray.nodes() if one["Alive"]]) == 2
        yield started
    finally:
        ray.shutdown()
        started.shutdown()
