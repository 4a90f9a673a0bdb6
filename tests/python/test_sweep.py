"""packsim.sweep: the points of the program, to the last bit, from Python."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_command import run
from simulated import LENGTHS, PROGRAM, small_job

import packsim
from packsim.sweeps import Sweep

JOB = small_job(strategies=[{"strategy": "isf"}, {"strategy": "bfd"}])
VARY = {"cluster.nodes": [1, 2], "packing.capacity_tokens": {"from": 32768, "to": 65536, "factor": 2}}
# Two of the four scenarios are refused: a node has 8 GPUs.
ZIPPED = {"packing.sp_degree": [4, 3], "cluster.gpu_hour_price": [2.5, None]}
GRID = {
    "scenario": "job.json",
    "set": {"seed": 3},
    "vary": [*({key: values} for key, values in VARY.items()), ZIPPED],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("lengths.npy", LENGTHS)
    Path("job.json").write_text(json.dumps(JOB))
    Path("grid.json").write_text(json.dumps(GRID))
    return tmp_path


def rows(database: str | Path) -> list[dict[str, Any]]:
    """Every column of every point."""
    connection = sqlite3.connect(database)
    connection.row_factory = sqlite3.Row
    found = [dict(row) for row in connection.execute("SELECT * FROM points ORDER BY point")]
    connection.close()
    return found


def bits(points: list[dict[str, Any]]) -> list[str]:
    """A text for each point, which differs if any bit of any number does."""
    return [repr(point) for point in points]


def facts(database: str) -> dict[str, str]:
    connection = sqlite3.connect(database)
    found = dict(connection.execute("SELECT fact, value FROM sweep"))
    connection.close()
    return found


def by_program(folder: Path, *words: str) -> list[dict[str, Any]]:
    run(PROGRAM, "sweep", *words, "--quiet", "--out", "program.db", folder=folder)
    return rows("program.db")


def test_points_are_those_of_the_program_to_the_last_bit(folder: Path) -> None:
    expected = by_program(folder, "grid.json")
    assert len(expected) == 16
    assert {row["status"] for row in expected} == {"ok", "refused"}
    assert packsim.sweep("grid.json", out="a.db", threads=1).n_points == 16
    assert bits(rows("a.db")) == bits(expected)
    assert facts("a.db") == facts("program.db")
    # From a mapping, a scenario and lengths in memory, each a sweep of its own.
    packsim.sweep(GRID, out="b.db", threads=2)
    assert bits(rows("b.db")) == bits(expected)
    packsim.sweep("job.json", VARY, zipped=[ZIPPED], set={"seed": 3}, out="c.db")
    assert bits(rows("c.db")) == bits(expected)
    scenario = packsim.load_scenario("job.json", set={"seed": 3})
    packsim.sweep(scenario, VARY, zipped=ZIPPED, out="d.db")
    assert bits(rows("d.db")) == bits(expected)
    packsim.sweep(packsim.load_scenario(JOB), VARY, zipped=ZIPPED, set={"seed": 3}, out="e.db")
    assert bits(rows("e.db")) == bits(expected)


def test_axes_may_be_written_as_for_the_program(folder: Path) -> None:
    expected = by_program(
        folder, "job.json", "--vary", "cluster.nodes=1,2", "--vary", "strategy=bfd", "--set", "seed=4"
    )
    found = packsim.sweep("job.json", ["cluster.nodes=1,2", "strategy=bfd"], set=["seed=4"], out="program.db")
    assert found.n_points == len(expected) == 2
    packsim.sweep("job.json", {"cluster.nodes": [1, 2], "strategy": ["bfd"]}, set={"seed": 4}, out="a.db")
    assert bits(rows("a.db")) == bits(expected)


def test_lengths_may_be_an_array_and_a_database_temporary(folder: Path) -> None:
    expected = by_program(folder, "job.json")
    other = LENGTHS[: len(LENGTHS) // 2]
    Path("short.json").write_text(json.dumps({**JOB, "lengths": {"mix": [{"source": "short.npy"}]}}))
    np.save("short.npy", other)

    def days(sweep: Sweep) -> list[float]:
        ((_, _, values),) = [column for column in sweep._columns() if column[0] == "gpu_days"]
        return values

    assert days(packsim.sweep(JOB, lengths=LENGTHS)) == [row["gpu_days"] for row in expected]
    before = sorted(folder.iterdir())
    given = packsim.load_scenario("job.json").with_lengths(other)
    shuffled = {"lengths.shuffle": [True]}
    assert days(packsim.sweep(given, shuffled)) == days(packsim.sweep("short.json", shuffled))
    assert days(packsim.sweep(given, lengths={"chat": LENGTHS})) == [row["gpu_days"] for row in expected]
    assert sorted(folder.iterdir()) == before
    with pytest.raises(packsim.ScenarioError, match="lengths: expected at least one source, got none"):
        packsim.sweep(JOB, lengths={})


def test_shards_are_merged(folder: Path) -> None:
    expected = by_program(folder, "grid.json")
    first = packsim.sweep("grid.json", shard=(1, 3), out="1.db")
    run(PROGRAM, "sweep", "grid.json", "--shard", "3/3", "--out", "3.db", folder=folder)
    assert first.n_points == 6
    told: list[tuple[int, int]] = []
    packsim.sweep(
        "grid.json", out="all.db", merge=["1.db", Path("3.db")], progress=lambda n, m, *_: told.append((n, m))
    )
    assert told == [(2, 6), (4, 6), (6, 6)][: len(told)] and told[-1][0] == told[-1][1]
    assert bits(rows("all.db")) == bits(expected)


def test_an_exception_of_progress_ends_the_sweep_which_goes_on_when_called_again(folder: Path) -> None:
    told: list[tuple[int, int, float, float]] = []

    def stop(*what: Any) -> None:
        told.append(what)
        assert threading.current_thread() is threading.main_thread()
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        packsim.sweep("grid.json", out="a.db", threads=1, progress=stop)
    assert sorted(path.name for path in folder.glob("a.db*")) == ["a.db"]  # one whole file
    n_done = len(rows("a.db"))
    assert 2 <= n_done < 16
    told.clear()
    packsim.sweep("grid.json", out="a.db", progress=lambda *what: told.append(what))
    assert told[0][1] == 16 - n_done
    assert told[-1][0] == told[-1][1] and told[-1][2] > 0 and told[-1][3] == 0
    assert rows("a.db") == by_program(folder, "grid.json")
    told.clear()
    packsim.sweep("grid.json", out="a.db", progress=lambda *what: told.append(what))
    assert told == []


def test_ctrl_c_leaves_one_whole_database(folder: Path) -> None:
    many = {"cluster.nic_bytes_per_s": list(range(10**10, 10**10 + 20000))}
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    began: list[float] = []

    def begin(*what: Any) -> None:
        if not began:
            began.append(time.monotonic())
            timer.start()

    with pytest.raises(KeyboardInterrupt):
        packsim.sweep("job.json", many, out="a.db", progress=begin)
    assert time.monotonic() - began[0] < 60
    assert sorted(path.name for path in folder.glob("a.db*")) == ["a.db"]
    found = rows("a.db")
    assert len(found) % 2 == 0 and len(found) < 40000  # whole scenarios, of two strategies


def test_who_reads_the_database_for_a_moment_stops_no_sweep(folder: Path) -> None:
    readers: list[sqlite3.Connection] = []

    def read(*what: Any) -> None:
        if not readers:
            readers.append(sqlite3.connect("a.db", check_same_thread=False))
            assert len(readers[0].execute("SELECT * FROM points").fetchall()) >= 2
            threading.Timer(0.5, readers[0].close).start()

    # It has been read to its end while the reader is still there.
    assert packsim.sweep("job.json", out="a.db", progress=read).n_points == 2
    assert readers
    assert sorted(path.name for path in folder.glob("a.db*")) == ["a.db"]


def message_of_program(*words: str) -> str:
    done = subprocess.run([PROGRAM, "sweep", *words], capture_output=True, text=True)
    assert done.returncode in (2, 3)
    return done.stderr.strip().removeprefix("packsim: ")


def test_mistakes_are_those_of_the_program() -> None:
    Path("bad.json").write_text(json.dumps({**GRID, "vary": [{"seed": 1, "strategy": ["isf", "fdd"]}]}))
    Path("lost.json").write_text(json.dumps({**GRID, "scenario": "none.json"}))
    packsim.sweep("job.json", out="own.db")
    for words, arguments in {
        ("bad.json",): {"scenario": "bad.json"},
        ("lost.json",): {"scenario": "lost.json"},
        ("no-such-scenario",): {"scenario": "no-such-scenario"},
        ("job.json", "--vary", "seed"): {"scenario": "job.json", "vary": ["seed"]},
        ("job.json", "--set", "sed=1"): {"scenario": "job.json", "set": {"sed": 1}},
        ("job.json", "--vary", "strategy=fdd"): {"scenario": "job.json", "vary": {"strategy": ["fdd"]}},
        ("job.json", "--shard", "3/2"): {"scenario": "job.json", "shard": (3, 2)},
        ("grid.json", "--out", "own.db"): {"scenario": "grid.json", "out": "own.db"},
        ("job.json", "--out", "no/a.db"): {"scenario": "job.json", "out": "no/a.db"},
        ("job.json", "--merge", "none.db"): {"scenario": "job.json", "merge": ["none.db"]},
    }.items():
        with pytest.raises((ValueError, OSError)) as refused:
            packsim.sweep(**arguments)
        error = refused.value
        text = error.strerror if isinstance(error, OSError) else str(error)
        # Python has no --force.
        assert text == message_of_program(*words).removesuffix("\n--force replaces it"), words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vary": {"seed": 1}}, "sweep(): /vary/seed: expected a list of values, or a range such as "),
        ({"vary": {"seed": {"from": 2, "to": 1, "step": 1}}}, "sweep(): /vary/seed/to: expected at least 2"),
        (
            {"zipped": [{"seed": [1]}, {"cluster.nodes": [1, 2], "training.epochs": [1]}]},
            'sweep(): /zipped/1/training.epochs: expected 2 values, as many as "cluster.nodes" beside it has',
        ),
        ({"vary": {"seed": [1]}, "zipped": {"seed": [2]}}, 'expected each key once, got "seed" twice'),
        ({"vary": "seed=1"}, "vary: expected a mapping of keys to lists of values, got 'seed=1' (str)"),
        ({"vary": [1]}, "vary: expected texts such as the program takes, got 1 (int)"),
        ({"vary": {"seed": [float("nan")]}}, "sweep(): expected what JSON can hold"),
        ({"zipped": 3}, "zipped: expected a mapping of keys to lists of values, got 3 (int)"),
        ({"set": 3}, "set: expected a mapping of keys to values, got 3 (int)"),
        ({"shard": 3}, "shard: expected (i, n) with i from 1 to n, such as (2, 8), got 3 (int)"),
        ({"threads": -1}, "threads: expected integer in 0..1024, got -1"),
    ],
)
def test_arguments_are_refused_in_words(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        packsim.sweep("job.json", **arguments, out="a.db")
    assert message in str(refused.value)
    assert not Path("a.db").exists()


def test_values_may_be_arrays_and_ranges_of_python(folder: Path) -> None:
    expected = by_program(folder, "job.json", "--vary", "seed=1,2,3", "--vary", "cluster.nodes=1,2")
    packsim.sweep("job.json", {"seed": range(1, 4), "cluster.nodes": np.array([1, 2])}, out="a.db")
    assert bits(rows("a.db")) == bits(expected)
