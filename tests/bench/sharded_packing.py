"""Packs a data set in shards on a Ray cluster of two local nodes, and kills a worker; then one call packs a
tenth.

    python tests/bench/sharded_packing.py --samples 1000000000 --shards 64 --folder /tmp/sharded

Prints seconds, the peak memory of every kind of process, fill, and what a rank takes to find its packs.
Lengths are drawn by seed: lognormal with the median (498) and mean (921) of the HBP paper's data. Needs
packsim[ray], and 10 bytes of disk a sample.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import re
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packsim._rank_schedule import RankSchedule
from packsim.sharded import ShardArguments, ShardedPacks, ShardedPlan


def lengths_of(shard: int, n_samples: int) -> NDArray[np.int32]:
    draws = np.random.default_rng([19, shard]).standard_normal(n_samples, dtype=np.float32)
    draws *= np.float32(math.sqrt(2 * math.log(921 / 498)))
    np.exp(draws, out=draws)
    draws *= 498
    return np.clip(draws, 1, 131_017, out=draws).astype(np.int32)


def lengths_of_fragile(shard: int, n_samples: int, marker: Path) -> NDArray[np.int32]:
    """Kills the worker of one shard, once."""
    if shard == 3 and not marker.exists():
        marker.touch()
        os._exit(1)
    return lengths_of(shard, n_samples)


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def memory_gb(kind: str) -> float:
    found = re.search(rf"{kind}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1e6 if found else math.nan


class WorkerMemory(threading.Thread):
    """The peak of all Ray workers, as the kernel keeps it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_gb = 0.0
        self.start()

    def run(self) -> None:
        while True:
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if (process / "cmdline").read_bytes().startswith(b"ray::_pack_shard"):
                        found = re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())
                        self.peak_gb = max(self.peak_gb, int(found[1]) / 1e6 if found else 0.0)
                except OSError:  # it has ended
                    pass
            time.sleep(0.1)


def pack_on_cluster(folder: Path, arguments: ShardArguments, n_shards: int, shard_samples: int) -> None:
    import ray
    from ray.cluster_utils import Cluster

    from packsim.ray import pack_shards

    node = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args=node | {"include_dashboard": False})
    cluster.add_node(**node)
    ray.init(address=cluster.address, log_to_driver=False)
    memory = WorkerMemory()
    source = functools.partial(lengths_of_fragile, n_samples=shard_samples, marker=folder / "killed")
    begin = time.perf_counter()
    packs = pack_shards(source, arguments, folder=folder, n_shards=n_shards, progress=show)
    print(
        f"cluster: {time.perf_counter() - begin:.0f} s, "
        f"worker {memory.peak_gb:.2f} GB, driver {peak_gb():.2f} GB"
    )
    print(f"a worker was killed: {(folder / 'killed').exists()}")
    print(packs, f"fill {packs.fill_fraction:.6f}, packs above the bound {packs.packs_above_bound}")
    leftovers = packs.manifest["leftovers"]
    print("leftovers:", leftovers and (leftovers["n_packs_before"], leftovers["n_packs"]), packs.counts)
    ray.shutdown()
    cluster.shutdown()


def show(n_done: int, n_shards: int) -> None:
    print(f"{n_done} of {n_shards} shards", flush=True)


def pack_a_tenth(arguments: ShardArguments, n_shards: int, shard_samples: int) -> None:
    n_samples = n_shards * shard_samples // 10
    parts = [lengths_of(shard, shard_samples) for shard in range(-(-n_samples // shard_samples))]
    lengths = np.concatenate(parts)[:n_samples]
    del parts
    begin = time.perf_counter()
    packing = arguments.pack(lengths)
    seconds = time.perf_counter() - begin
    print(
        f"one call: {seconds:.1f} s, {peak_gb():.2f} GB, {packing}, "
        f"fill {packing.statistics.fill_fraction:.6f}"
    )


def share_out(folder: Path) -> None:
    begin = time.perf_counter()
    packs = ShardedPacks.open(folder)
    plan = ShardedPlan(packs, n_gpus=1024, micro_batches_per_rank=4)
    schedule = RankSchedule(plan, 17, 1024)
    schedule.turns(0)
    print(f"{plan}: opened, files verified, first iteration after {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    for iteration in range(1, 101):
        schedule.turns(iteration)
    print(
        f"{(time.perf_counter() - begin) * 10:.1f} ms an iteration of a rank, "
        f"{memory_gb('RssAnon'):.2f} GB, and {memory_gb('RssFile'):.2f} GB of mapped files"
    )


def check(folder: Path) -> None:
    begin = time.perf_counter()
    ShardedPacks.open(folder).check()
    print(f"every sample once or counted: {time.perf_counter() - begin:.0f} s, {peak_gb():.2f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000_000)
    parser.add_argument("--shards", type=int, default=64)
    parser.add_argument("--capacity", type=int, default=4096)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--stage", choices=("cluster", "ranks", "check", "one_call"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    arguments = ShardArguments("bfd", given.capacity, over_long="truncate")
    shard_samples = given.samples // given.shards
    if given.stage == "cluster":
        pack_on_cluster(given.folder, arguments, given.shards, shard_samples)
    elif given.stage == "ranks":
        share_out(given.folder)
    elif given.stage == "check":
        check(given.folder)
    elif given.stage == "one_call":
        pack_a_tenth(arguments, given.shards, shard_samples)
    else:  # each in a process of its own, for its peak of memory
        for stage in ("cluster", "ranks", "check", "one_call"):
            subprocess.run([sys.executable, *sys.argv, "--stage", stage], check=True)


if __name__ == "__main__":
    main()
