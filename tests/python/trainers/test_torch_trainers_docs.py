"""The code of docs/trainers.md runs, block after block, and its errors are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
for package in ("transformers", "trl", "accelerate", "deepspeed", "lightning", "datasets"):
    pytest.importorskip(package)

import torch.distributed as dist  # noqa: E402
import trainer_runs  # noqa: E402
import zero_runs  # noqa: E402
from cases import REPOSITORY  # noqa: E402

import packsim  # noqa: E402

TEXT = (REPOSITORY / "docs" / "trainers.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def plan_of_one(**more: Any) -> packsim.Plan:
    packing = packsim.pack(trainer_runs.LENGTHS, strategy="bfd", capacity_tokens=64)
    return packsim.make_plan(packing, loss_tokens=trainer_runs.loss_tokens(), **more)


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {
        "torch": torch,
        "dataset": datasets.Dataset.from_list(trainer_runs.samples()),
        "plan": plan_of_one(micro_batches_per_rank=2, last_iteration="shorten"),
        "even_plan": plan_of_one(micro_batches_per_rank=2, last_iteration="drop"),
        "tokenizer": trainer_runs.tokenizer(),
    }
    found = blocks("python")
    assert len(found) == 9
    try:
        for place, code in enumerate(found):
            names["model"] = trainer_runs.small_llama()
            with monkeypatch.context() as patch:
                if "get_world_size" in code or "deepspeed" in code:
                    rendezvous = f"file://{tmp_path}/rendezvous{place}"
                    dist.init_process_group("gloo", init_method=rendezvous, rank=0, world_size=1)
                if "deepspeed" in code:
                    zero_runs.deepspeed_without_compiler()
                    patch.setenv("LOCAL_RANK", "0")  # as its launcher does
                exec(compile(code, "docs/trainers.md", "exec"), names)
            if dist.is_initialized():
                dist.destroy_process_group()
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    assert names["trainer"].state.global_step == 3
    assert names["loader"].steps_done == names["plan"].n_iterations == names["engine"].global_steps
    assert names["fit"].global_step == 3
    assert names["counts"].n_rows == len(names["rows"])
    assert sorted(map(sorted, names["rows_of_micro_batches"])) == [[0, 2], [1, 3, 4]]

    def model(tokens: Any, position_ids: Any, mask: None, labels: Any) -> Any:
        logits = trainer_runs.small_llama()(tokens, position_ids=position_ids, use_cache=False).logits[0]
        return torch.nn.functional.cross_entropy(logits, labels[0], reduction="none")[None]

    losses, loss_func = names["forward_step"](names["batches"], model)
    assert loss_func(losses)[0].item() > 0


def test_the_keys_of_axolotl_are_those_of_the_plugin() -> None:
    import fake_axolotl

    fake_axolotl.install()
    from packsim.trainers import axolotl

    (configuration,) = blocks("yaml")
    plugin = f"{axolotl.PacksimPlugin.__module__}.{axolotl.PacksimPlugin.__name__}"
    assert f"  - {plugin}\n" in configuration
    keys = re.findall(r"^(packsim_\w+):", configuration, re.MULTILINE)
    assert set(keys) <= set(axolotl.PacksimArgs.model_fields)


def test_errors_are_worded_as_the_page_says() -> None:
    folders = [REPOSITORY / "python/packsim" / name for name in ("trainers", "torch")]
    sources = "".join(path.read_text() for folder in folders for path in folder.glob("*.py"))
    sources = re.sub(r'"\s*f?"', "", sources)
    rows = re.findall(r"^\| .* \| `(.*)` \|$", TEXT, re.MULTILINE)
    assert len(rows) == 11
    for row in rows:
        words = [
            part.strip(" ,;:(")
            for part in re.split(r"[0-9, ]*[0-9]|: |; |, got |, \.\.\.|\bexpected\b|\btrl\b", row)
        ]
        longest = max(words, key=len)
        assert longest in sources, longest
