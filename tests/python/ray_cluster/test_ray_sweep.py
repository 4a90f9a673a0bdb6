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

import pytest
from ray_cases import two_nodes
from simulated import PROGRAM
from swept import VARIED, points_alone, rows, write_job

ray = pytest.importorskip("ray")
if not PROGRAM.exists():
    pytest.skip("this environment is without the simulator", allow_module_level=True)

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
    assert not (tmp_path / "s.db").exists()
    first = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "s.db.shards").glob("*.db")}
    assert len(first) >= 2
    times: dict[str, int] = {}

    def look(done: int, total: int) -> None:
        times.update({path.name: path.stat().st_mtime_ns for path in (tmp_path / "s.db.shards").glob("*.db")})

    sweep(job, out=tmp_path / "s.db", vary=VARIED, n_shards=4, progress=look)
    assert first.items() <= times.items()
    assert rows(tmp_path / "s.db") == alone


def test_mistakes_of_a_grid_are_those_of_the_program(cluster: None, job: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"--vary: expected KEY=VALUE,VALUE"):
        sweep(job, out=tmp_path / "s.db", vary=["cluster.nodes"], n_shards=2)
    with pytest.raises(ValueError, match=r"retries: expected integer in 0\.\.1000, got -1"):
        sweep(job, out=tmp_path / "s.db", retries=-1)
