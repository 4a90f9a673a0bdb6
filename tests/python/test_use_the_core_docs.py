"""The Python code of docs/use_the_core.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from cases import REPOSITORY

import packsim


def test_the_python_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("lengths.npy", np.random.default_rng(5).integers(1, 10_000, size=2000))
    page = (REPOSITORY / "docs" / "use_the_core.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "docs/use_the_core.md", "exec"), {})
    assert packsim.Plan.open("job.plan").n_samples == 2000
