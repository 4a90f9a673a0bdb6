"""The code of docs/streaming.md runs, block after block, and does what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import training  # noqa: E402
from cases import REPOSITORY  # noqa: E402
from training_cases import VOCABULARY, drawn_lengths  # noqa: E402

TEXT = (REPOSITORY / "docs" / "streaming.md").read_text()


def test_every_block_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "texts").mkdir()
    for i in range(8):
        lines = ["abcdefgh" * (n // 8 + 1) for n in drawn_lengths(15, seed=i, longest_tokens=90)]
        (tmp_path / "texts" / f"{i}.txt").write_text("\n".join(lines))
    names: dict[str, Any] = {"model": training.model(), "vocabulary": VOCABULARY}
    try:
        for code in re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
            exec(compile(code, "docs/streaming.md", "exec"), names)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    assert sorted(i for pack in names["packs"] for i in pack.tolist()) == list(range(4 * 700))
    # The resumed loop has trained the rest of the epoch, every sample once.
    shown = [line.split(" ", 1) for line in capsys.readouterr().out.splitlines()]
    assert shown.pop() == ["1", "[[0, 5, {'web': 1.0, 'code': 1.0}]]"]
    rest = [(int(shard), i) for shard, samples in shown for i in eval(samples)]
    every = {(shard, i) for shard in range(4) for i in range(30)}
    n_before = len(every) - len(rest)
    assert len(set(rest)) == len(rest) and set(rest) < every and n_before > 4
    assert names["resumed"].dataset.epoch == 1
    assert names["mix"].history == [[0, 5, {"web": 1, "code": 1}]]
