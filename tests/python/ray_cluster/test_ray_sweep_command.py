"""`packsim sweep --ray`: one database with the points of threads, each once, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ray_cases import two_nodes
from run_command import run
from simulated import PROGRAM
from swept import points_alone, rows, start_program, varied_words, write_job

ray = pytest.importorskip("ray")
if not PROGRAM.exists():
    pytest.skip("this environment is without the simulator", allow_module_level=True)

# Enough points that a sweep takes seconds on two CPUs.
MANY = ["--vary", "seed=" + ",".join(map(str, range(150)))]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as started:
        yield started


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return write_job(tmp_path)


def ended(program: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = program.communicate(timeout=300)
    return program.returncode, out, err


def many_alone(job: Path) -> list[Any]:
    run(PROGRAM, "sweep", "job.json", *MANY, "--out", "alone.db", folder=job.parent)
    return rows(job.parent / "alone.db")


def test_points_are_those_of_threads(cluster: Any, job: Path) -> None:
    folder = job.parent
    # What a shard has is taken, and the rest goes to the cluster.
    run(
        PROGRAM,
        "sweep",
        "job.json",
        *varied_words(),
        "--shard",
        "1/3",
        "--out",
        "1.db",
        "--quiet",
        folder=folder,
    )
    words = [*varied_words(), "--merge", "1.db", "--out", "s.db"]
    code, out, err = ended(start_program(cluster.address, folder, *words))
    assert code == 0, err
    assert f"on the Ray cluster {cluster.address}, 8 were there." in out
    assert "16 points computed" in out
    assert err.splitlines()[-1].split("] ")[1].startswith("8 of 8 parts of the grid, 0 s left")
    assert rows(folder / "s.db") == points_alone(job)
    assert sorted(path.name for path in folder.glob("s.db*")) == ["s.db"]


def test_a_worker_that_is_killed_loses_nothing(cluster: Any, job: Path) -> None:
    program = start_program(cluster.address, job.parent, *MANY, "--out", "s.db", "--quiet")
    n_killed = 0
    end = time.monotonic() + 120
    while n_killed == 0 and time.monotonic() < end:
        listed = subprocess.run(["pgrep", "-f", "ray::_shard"], capture_output=True, text=True)
        for pid in map(int, listed.stdout.split()[:1]):
            os.kill(pid, signal.SIGKILL)
            n_killed += 1
        time.sleep(0.005)
    code, _, err = ended(program)
    assert (code, n_killed) == (0, 1), err
    assert rows(job.parent / "s.db") == many_alone(job)


def test_ctrl_c_keeps_the_points_that_are_done(cluster: Any, job: Path) -> None:
    program = start_program(cluster.address, job.parent, *MANY, "--out", "s.db")
    wait_for_points(job.parent / "s.db", program)
    # A terminal sends it to both; the program leaves it to Python.
    children = subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True, text=True)
    for pid in [program.pid, *map(int, children.stdout.split())]:
        os.kill(pid, signal.SIGINT)
    code, _, err = ended(program)
    assert code == 130
    assert "packsim: interrupted (SIGINT); the database has the points that were done" in err
    n_there = len(rows(job.parent / "s.db"))
    assert 0 < n_there < 300
    code, out, err = ended(start_program(cluster.address, job.parent, *MANY, "--out", "s.db"))
    assert code == 0, err
    assert f"{300 - n_there} points computed" in out and f"{n_there} were there" in out
    assert rows(job.parent / "s.db") == many_alone(job)


def wait_for_points(database: Path, program: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and program.poll() is None:
        try:
            if rows(database):
                return
        except Exception:  # there is no such file or table yet
            pass
        time.sleep(0.01)
    raise AssertionError(f"the program has ended with {program.poll()} before a point was there")


def test_mistakes_have_the_messages_and_exit_codes_of_the_program(cluster: Any, job: Path) -> None:
    code, _, err = ended(start_program(cluster.address, job.parent, "--vary", "strategy=fdd"))
    assert code == 2
    assert err.startswith('job.json: vary strategy: expected one of isf, bfd, got "fdd"')
    code, _, err = ended(start_program("127.0.0.1:1", job.parent, "--quiet"))
    assert code == 3
    assert err.startswith("packsim: --ray: cannot use the cluster 127.0.0.1:1: [Errno 111]")


def test_a_node_that_dies_loses_nothing(cluster: Any, job: Path) -> None:
    """The last test of the file: the cluster has one node then."""
    program = start_program(cluster.address, job.parent, *MANY, "--out", "s.db", "--quiet")
    wait_for_points(job.parent / "s.db", program)
    cluster.remove_node(*cluster.worker_nodes, allow_graceful=False)
    code, _, err = ended(program)
    assert code == 0, err
    assert rows(job.parent / "s.db") == many_alone(job)
