"""A small sweep, and its points as one machine computes them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from run_command import run
from simulated import PROGRAM, small_job

# With 2 strategies 12 scenarios of 24 points.
VARIED = [
    "packing.capacity_tokens=16384,32768,65536",
    "cluster.nic_bytes_per_s=1e11,2e11,3e11,4e11",
]


def write_job(folder: Path) -> Path:
    job = small_job(strategies=[{"strategy": "isf"}, {"strategy": "bfd"}])
    path = folder / "job.json"
    path.write_text(json.dumps({**job, "lengths": {"mix": [{"source": "gsm8k.csv"}]}}))
    return path


def rows(database: Path) -> list[Any]:
    connection = sqlite3.connect(database)
    found = connection.execute("SELECT * FROM points ORDER BY point").fetchall()
    connection.close()
    return found


def varied_words() -> list[str]:
    return [word for text in VARIED for word in ("--vary", text)]


def points_alone(job: Path) -> list[Any]:
    run(PROGRAM, "sweep", str(job), *varied_words(), "--out", "alone.db", folder=job.parent)
    points = rows(job.parent / "alone.db")
    assert len(points) == 24
    return points


def start_program(address: str, folder: Path, *words: str) -> subprocess.Popen[str]:
    """`packsim sweep job.json --ray ADDRESS` in the folder, with the Python of this process."""
    environment = {**os.environ, "PACKSIM_PYTHON": sys.executable}
    environment.pop("PACKSIM_DATA", None)
    command = [PROGRAM, "sweep", "job.json", "--ray", address, *words]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
