"""A sweep on a Ray cluster of two local nodes: the points of one machine, each once, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray_cases import two_nodes
from simulated import LENGTHS, PROGRAM, small_job
from swept import VARIED, points_alone, rows, write_job

ray = pytest.importorskip("ray")
if not PROGRAM.exists():
    pytest.skip("this environment is without the simulator", allow_module_level=True)

import packsim  # noqa: E402
from packsim.ray import sweep  # noqa: E402


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with two_nodes():
        yield


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_job(tmp_path_factory.mktemp("job"))


@pytest.fixture(scope="module")
def alone(job: Path) -> list[Any]:
    return points_alone(job)


def test_points_are_those_of_one_machine(cluster: None, job: Path, alone: list[Any], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    found = sweep(
        job,
        out=tmp_path / "s.db",
        vary=VARIED,
        n_shards=5,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert found.n_points == 24
    assert rows(tmp_path / "s.db") == alone
    assert seen == [(done, 5) for done in range(1, 6)]
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]


def test_a_worker_that_is_killed_loses_nothing(
    cluster: None, job: Path, alone: list[Any], tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill_one() -> None:
        end = time.monotonic() + 60
        while not killed and time.monotonic() < end:
            listed = subprocess.run(["pgrep", "-f", "ray::_shard"], capture_output=True, text=True)
            for pid in map(int, listed.stdout.split()):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                break
            time.sleep(0.005)

    thread = threading.Thread(target=kill_one)
    thread.start()
    sweep(job, out=tmp_path / "s.db", vary=VARIED, n_shards=6)
    thread.join()
    assert killed
    assert rows(tmp_path / "s.db") == alone


def test_shards_that_are_done_are_not_computed_again(
    cluster: None, job: Path, alone: list[Any], tmp_path: Path
) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        sweep(job, out=tmp_path / "s.db", vary=VARIED, n_shards=4, progress=stop)
    n_there = len(rows(tmp_path / "s.db"))
    assert 12 <= n_there < 24
    # A part of the rest has each of its scenarios, of two points.
    seen: list[int] = []
    sweep(
        job, out=tmp_path / "s.db", vary=VARIED, n_shards=100, progress=lambda done, total: seen.append(total)
    )
    assert seen == [(24 - n_there) // 2] * len(seen)
    assert rows(tmp_path / "s.db") == alone
    # Nothing is left.
    sweep(job, out=tmp_path / "s.db", vary=VARIED, progress=lambda done, total: seen.clear())
    assert seen


def test_lengths_are_put_into_the_object_store_once(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "lengths.npy", LENGTHS[:10])  # what the scenario names; the array replaces it
    monkeypatch.chdir(tmp_path)
    put: list[Any] = []
    real = ray.put
    monkeypatch.setattr(ray, "put", lambda value: put.append(value) or real(value))
    grid = {"cluster.nodes": [1, 2], "seed": [1, 2]}
    found = sweep(
        small_job(strategies=[{"strategy": "bfd"}]),
        out=tmp_path / "ray.db",
        vary=grid,
        lengths={"chat": LENGTHS},
        n_shards=4,
    )
    assert found.n_points == 4 and len(put) == 1
    packsim.sweep(
        small_job(strategies=[{"strategy": "bfd"}]),
        grid,
        lengths={"chat": LENGTHS},
        out=tmp_path / "alone.db",
    )
    assert rows(tmp_path / "ray.db") == rows(tmp_path / "alone.db")


def test_mistakes_of_a_grid_are_those_of_the_program(cluster: None, job: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"--vary: expected KEY=VALUE,VALUE"):
        sweep(job, out=tmp_path / "s.db", vary=["cluster.nodes"], n_shards=2)
    with pytest.raises(ValueError, match=r"retries: expected integer in 0\.\.1000, got -1"):
        sweep(job, out=tmp_path / "s.db", retries=-1)
