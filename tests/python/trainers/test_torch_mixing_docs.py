"""The code of docs/mixing_in_training.md runs, block after block, and does what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
for package in ("transformers", "accelerate"):
    pytest.importorskip(package)

import trainer_runs  # noqa: E402
from cases import REPOSITORY  # noqa: E402
from training_cases import drawn_lengths, token_ids  # noqa: E402

import packsim  # noqa: E402

PAGE = REPOSITORY / "docs" / "mixing_in_training.md"
# What follows needs more samples and a second model.
LOOPS = PAGE.read_text().partition("\n## HBO's rewards\n")[0]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", LOOPS, re.MULTILINE | re.DOTALL)


def some_dataset() -> list[dict[str, Any]]:
    lengths = drawn_lengths(90, seed=2, longest_tokens=80) + 2
    sources = ["web", "web", "code"] * 30
    rows = zip(token_ids(lengths), sources, lengths.tolist(), strict=True)
    return [{"input_ids": ids.tolist(), "source": source, "difficulty": n} for ids, source, n in rows]


def test_every_block_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"dataset": some_dataset(), "model": trainer_runs.small_llama()}
    assert len(BLOCKS) == 7
    for code in BLOCKS:
        exec(compile(code, PAGE.name, "exec"), names)
        if "new_loader" in code and "Trainer" not in code:
            counts = names["loader"].counts
            assert counts.trained + counts.held == counts.draws > 0 and counts.trained_after_update > 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "[0.667 0.333]" and "MixtureCounts(n_draws=100" in "\n".join(shown)
    assert names["whole"][0]["step"] == 0 and [row["step"] for row in names["whole"]] == [0, 5, 10]
    assert (tmp_path / "out/checkpoint-12/mixture_loader.json").exists()
    assert names["loader"].step == 4


def test_the_table_has_every_policy_with_its_options() -> None:
    table = (PAGE.parent / "mixing.md").read_text()
    for row in packsim.mixing_policies():
        needs = "nothing" if row.needs == "none" else row.needs
        found = re.search(rf"^\| {row.name} \|.*\| (\w+) \|(.*)\|$", table, re.MULTILINE)
        assert found and found.group(1) == needs, row.name
        assert tuple(filter(None, re.split(r"[, ]+", found.group(2).strip()))) == row.options
