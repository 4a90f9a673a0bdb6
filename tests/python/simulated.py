"""A small job for tests of the simulator, and what the program says of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from cases import heavy_tailed
from numpy.typing import NDArray
from run_command import run

PROGRAM = Path(sys.executable).parent / "packsim"

LENGTHS: NDArray[np.int32] = heavy_tailed(1500, 11, 30_000)


def small_job(**changes: Any) -> dict[str, Any]:
    """A scenario with lengths from "lengths.npy" of the current folder, which are LENGTHS in the tests."""
    return {
        "format": 1,
        "name": "small",
        "model": "llama3.1-8b",
        "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
        "profile": "deepspeed-ulysses-h100",
        "training": {"tokens_per_iteration": 262144},
        "lengths": {"mix": [{"source": "lengths.npy"}], "shuffle": False},
        "packing": {"capacity_tokens": 32768, "sp_degree": 4},
        "strategies": [{"strategy": "isf"}, {"strategy": "bfd"}, {"strategy": "planner"}],
        **changes,
    }


def without_timings(report: str) -> str:
    """report.json up to its last member, the times that packsim itself took."""
    head, found, _ = report.rpartition('\n  "timings": ')
    assert found
    return head


def program_report(folder: Path, *words: str) -> str:
    """The report.json of `packsim compare` or `packsim run` in a folder."""
    run(PROGRAM, *words, folder=folder)
    return (folder / "packsim-report" / "report.json").read_text()
