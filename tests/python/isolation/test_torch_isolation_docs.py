"""The code of docs/isolation.md runs, block after block."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from cells import SIZES  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402
from versions import PAGE  # noqa: E402

from packsim import make_plan, pack  # noqa: E402
from packsim.torch import PackCollator, PlanLoader  # noqa: E402


def test_every_block_runs() -> None:
    samples = [[1 + (7 * at + sample) % 60 for at in range(3 + sample % 9)] for sample in range(20)]
    plan = make_plan(pack([len(sample) for sample in samples], strategy="bfd", capacity_tokens=32))
    loader = PlanLoader(plan, samples, PackCollator(plan))
    names: dict[str, Any] = {"model": LlamaForCausalLM(LlamaConfig(**SIZES)), "loader": loader}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert all(parameter.grad is not None for parameter in names["model"].parameters())
