"""on_a_gpu.py runs on a CPU as far as that goes: it is tried here, and measures on GPUs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

SCRIPT = Path(__file__).with_name("on_a_gpu.py")


def test_each_check_has_its_line(tmp_path: Path) -> None:
    result = tmp_path / "result.jsonl"
    options = ["--small", "--parts", "isolation,loader,nothing", "--isolation-s", "15", "--loader-s", "12"]
    subprocess.run([sys.executable, "-W", "ignore", SCRIPT, result, *options], check=True, timeout=600)
    lines = [json.loads(line) for line in result.read_text().splitlines()]
    assert lines[0]["check"] == "machine" and lines[-1]["check"] == "end"
    assert "expected isolation, loader or flex, got nothing" in lines[-2]["error"]
    cells = [line for line in lines if "dtype" in line]
    llama = cells[0]
    assert llama["model"] == "Llama" and llama["attention"].startswith(
        "flash_attention_2 of transformers over"
    )
    assert llama["passes"] and llama["route"] == "where documents begin, for FlashAttention"
    assert llama["gradients_off"] < 0.02
    assert [line for line in lines if line.get("part") == "times" and line.get("counted_steps")]
