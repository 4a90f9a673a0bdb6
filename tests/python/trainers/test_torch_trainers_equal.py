"""On two processes, every trainer ends where training each sample on its own ends."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import trainer_runs  # noqa: E402
from process_pool import ProcessPool  # noqa: E402

TOLERANCE = 1e-5
RUNS = {
    "DistributedDataParallel": (trainer_runs.in_ddp, "torch"),
    "fully_shard": (trainer_runs.in_fsdp2, "torch"),
    "Trainer": (trainer_runs.in_trainer, "transformers"),
    "SFTTrainer": (trainer_runs.in_sft_trainer, "trl"),
    "axolotl": (trainer_runs.in_axolotl, "datasets"),
    "accelerate": (trainer_runs.in_accelerate, "accelerate"),
    "Lightning": (trainer_runs.in_lightning, "lightning"),
}


@cache
def plan_bytes(accumulation: int) -> bytes:
    return trainer_runs.made_plan(accumulation).to_bytes()


@cache
def unpacked(accumulation: int) -> Any:
    return trainer_runs.trained_unpacked(plan_bytes(accumulation))


@pytest.mark.parametrize("accumulation", [1, 4])
@pytest.mark.parametrize("name", RUNS)
def test_parameters_are_those_of_unpacked_training(
    name: str, accumulation: int, two_processes: ProcessPool, tmp_path: Path
) -> None:
    run, package = RUNS[name]
    pytest.importorskip(package)
    found, other = two_processes.run(run, plan_bytes(accumulation), accumulation, str(tmp_path))
    assert (found == other).all()
    expected, begin = unpacked(accumulation), trainer_runs.flat(trainer_runs.small_llama())
    assert float((found - expected).norm() / expected.norm()) < TOLERANCE
    # A wrong scale of the gradients, such as one of them lost, would show here first.
    assert float((found - begin).norm() / (expected - begin).norm()) == pytest.approx(1, abs=5e-4)
    assert float((expected - begin).norm() / begin.norm()) > 0.05  # the training has moved them
