"""The commands and listings of docs/sweep.md run, one after another, on a small job."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest
from cases import REPOSITORY
from ray_cases import two_nodes
from run_command import run
from simulated import LENGTHS, PROGRAM, small_job
from swept import rows

ray = pytest.importorskip("ray")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")
if not PROGRAM.exists():
    pytest.skip("this environment is without the simulator", allow_module_level=True)

SHIPPED = "llama3.1-8b-hybrid-128k"  # of which a sweep takes long


def blocks() -> list[tuple[str, str]]:
    """(language, code) of each; commands have none."""
    page = (REPOSITORY / "docs" / "sweep.md").read_text()
    return re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("lengths.npy", LENGTHS)
    # hbp itself has groups of packs, which the small job is without.
    strategies = [{"strategy": "isf"}, {"strategy": "ffd"}, {"name": "hbp", "strategy": "bfd"}]
    Path("job.json").write_text(json.dumps(small_job(strategies=strategies)))
    monkeypatch.setenv("PATH", f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PACKSIM_PYTHON", sys.executable)
    grid = ""
    names: dict[str, Any] = {}
    n_run = 0
    with two_nodes() as cluster:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)  # what `auto` is
        for language, code in blocks():
            small = code.replace(SHIPPED, "job.json")
            if language == "json":
                grid = small
                Path("grid.json").write_text(grid)
                # The page's first sweep is of another grid.
                Path("sweep.db").unlink()
            elif language == "python":
                exec(compile(code, "docs/sweep.md", "exec"), names)
            elif "sqlite3" in small and which("sqlite3") is None:
                continue
            else:
                for command in re.split(r"^\$ ", small, flags=re.MULTILINE)[1:]:
                    run("bash", "-c", command, folder=tmp_path)
            n_run += 1
    assert grid and n_run >= 7
    assert names["found"].n_points == len(rows(Path("sweep.db"))) == 24  # 3 strategies, 4 and 2 clusters
    assert names["swept"].n_points == 12
    assert names["frame"].height == 24
