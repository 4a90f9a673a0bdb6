"""The examples train, and go on where they ended."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from process_pool import ProcessPool  # noqa: E402
from training_cases import EXAMPLES  # noqa: E402

import generated_data  # isort: skip # noqa: E402

SAMPLES = ["--samples", "120"]


def run_ddp(arguments: list[str]) -> list[float]:
    import train_ddp

    return train_ddp.main([*SAMPLES, *arguments])


def test_ddp_goes_on_where_it_ended(two_processes: ProcessPool, tmp_path: Path) -> None:
    def losses(folder: str, n_steps: int, *more: str) -> list[float]:
        arguments = ["--folder", str(tmp_path / folder), "--steps", str(n_steps), "--save-every", "2", *more]
        first, second = two_processes.run(run_ddp, arguments)
        assert first == second
        return first

    whole = losses("whole", 5)
    assert len(whole) == 5
    assert losses("parts", 2) + losses("parts", 5, "--workers", "1") == whole
    assert whole[-1] < whole[0]


def test_ddp_under_torchrun(tmp_path: Path) -> None:
    arguments = ["--steps", "2", "--folder", str(tmp_path), *SAMPLES, "--strategy", "none"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, str(EXAMPLES / "train_ddp.py"), *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)

    done = run()
    # Seldom (seen once) a process that has trained everything is aborted as its interpreter ends. PyTorch's
    # threads are the likely cause: they may ask for the interpreter's lock then.
    if "terminate called without an active exception" in done.stderr and done.stdout.count(": loss ") == 2:
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        done = run()
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": loss ") == 2


def run_trainer(arguments: list[str]) -> Any:
    import train_trainer

    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    return train_trainer.main([*SAMPLES, *arguments])


def test_trainer_trains_the_plan_and_goes_on(two_processes: ProcessPool, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    import train_trainer

    def arguments(folder: str, n_steps: int) -> list[str]:
        return ["--folder", str(tmp_path / folder), "--steps", str(n_steps), "--save-every", "2"]

    whole = train_trainer.main([*SAMPLES, *arguments("whole", 4)])
    parts = train_trainer.main([*SAMPLES, *arguments("parts", 2)])
    parts += train_trainer.main([*SAMPLES, *arguments("parts", 4), "--resume"])[-2:]
    assert parts == pytest.approx(whole, abs=1e-6)
    state = json.loads((tmp_path / "parts" / "checkpoint-4" / "plan_loader.json").read_text())
    assert (state["iteration"], state["turn"]) == (4, 0)
    # The same plan on two processes: other turns, the same steps.
    by_two = two_processes.run(run_trainer, arguments("by_two", 4))[0]
    assert by_two == pytest.approx(whole, abs=1e-4)
