"""The code of docs/production.md runs, block after block."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pyarrow")

import torch.distributed as dist  # noqa: E402
import training  # noqa: E402
from cases import REPOSITORY  # noqa: E402
from training_cases import drawn_lengths, token_ids  # noqa: E402

TEXT = (REPOSITORY / "docs" / "production.md").read_text()
PROGRAM = Path(sys.executable).parent / "packsim"


def blocks() -> list[tuple[str, str]]:
    """(language, code) of each."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "0",
    }.items():
        monkeypatch.setenv(name, value)
    lengths = drawn_lengths(80, seed=3, longest_tokens=90)
    data = [{"input_ids": ids.tolist(), "labels": [-100, *ids[1:].tolist()]} for ids in token_ids(lengths)]
    names: dict[str, Any] = {"dataset": data, "model": training.model()}
    found = blocks()
    assert {language for language, _ in found} == {"python", "console"}
    try:
        for language, code in found:
            if language == "python":
                exec(compile(code, "docs/production.md", "exec"), names)
            elif language == "console" and PROGRAM.exists():
                for line in code.splitlines():
                    subprocess.run([PROGRAM, *shlex.split(line)[1:]], check=True, capture_output=True)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    # The loop has trained an epoch, what followed the next, and the resumed loader begins the second.
    assert names["loader"].epoch == 2
    assert (names["resumed"].epoch, names["resumed"].steps_done) == (1, names["plan"].iterations_per_epoch)
    if PROGRAM.exists():
        import packsim

        assert packsim.Plan.open("command.plan").n_samples == len(data)


def test_errors_are_worded_as_the_page_says() -> None:
    """The beginnings of the messages, which other tests hold the code to, up to their first number."""
    sources = "".join(path.read_text() for path in (REPOSITORY / "python" / "packsim").rglob("*.py"))
    sources = re.sub(r'"\s*f?"', "", sources)
    rows = re.findall(r"^\| .* \| `(.*)` \|$", TEXT, re.MULTILINE)
    assert len(rows) >= 8
    for row in rows:
        words = [part.strip() for part in re.split(r"[0-9a-f.]*[0-9][0-9a-f.]*|\.\.\.|[\[\]]", row)]
        for part in words:
            longest = max(re.split(r", |: |; ", part), key=len)
            if len(longest) > 12:
                assert longest in sources, longest
