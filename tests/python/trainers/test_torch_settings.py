"""Settings of random plans, read back as each trainer would, are those plans; and trainers accept them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from accept_settings import ACCEPT
from cases import REPOSITORY
from settings_readers import READERS, Files, Job, Plan, read_files

BINARY = Path(os.environ.get("PACKSIM_TEST_REPORTS", REPOSITORY / "build/tests/test_reports"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each trainer, with one for each of 20 random plans that it can run."""
    if not BINARY.exists():
        pytest.skip(f"no {BINARY}")
    folder = tmp_path_factory.mktemp("settings")
    environment = {**os.environ, "PACKSIM_SETTINGS": str(folder)}
    subprocess.run([BINARY, "[.settings]"], env=environment, cwd=REPOSITORY, check=True, capture_output=True)
    return folder


def true_plan(truth: Files) -> tuple[Plan, Job]:
    parallelism, (group,) = truth["plan"]["parallelism"], truth["plan"]["groups"]
    chunks = parallelism["pp_degree"] * parallelism["virtual_stages"]
    words, offload = parallelism["checkpointing"], parallelism["offload"]
    plan = Plan(
        **{
            key: parallelism[key]
            for key in ("zero_stage", "tp_degree", "pp_degree", "virtual_stages", "ep_degree")
        },
        **{key: group[key] for key in ("sp_degree", "cp_degree")},
        cp_exchange=parallelism["cp_exchange"] if group["cp_degree"] > 1 else "ring",
        gc_layers=-(-group["gc_layers"] // chunks) * chunks,  # chunks checkpoint equally many
        checkpointing=words if isinstance(words, str) else tuple(words),
        offload=set([offload] if isinstance(offload, str) else offload) - {"none"},
        mlp_tiles=parallelism["mlp_tiles"],
        micro_batches=truth["micro_batches"],
        pack_tokens=group["capacity_tokens"],
        shards=parallelism["shard_degree"],
    )
    return plan, Job(truth["n_gpus"], truth["n_layers"], truth["n_kv_heads"])


def settled(plan: Plan, job: Job, other: Plan) -> Plan:
    """The plan without what does nothing, and what the other leaves to the trainer or a schedule."""
    if plan.gc_layers == 0:
        plan.checkpointing = "full"
        plan.offload -= {"activations"}
    plan.shards = plan.shards or job.n_gpus // plan.tp_degree // plan.pp_degree
    if other.micro_batches is None:
        plan.micro_batches = None
    if other.pack_tokens is None:
        plan.pack_tokens = None
    if other.mlp_tiles is None and plan.mlp_tiles != 1:
        plan.mlp_tiles = None
    return plan


@pytest.mark.parametrize("trainer", sorted(READERS))
def test_settings_read_back_are_the_plan(trainer: str, written: Path) -> None:
    cases = sorted((written / trainer).iterdir())
    assert len(cases) == 20
    for case in cases:
        files = read_files(case)
        truth = files.pop("truth.json")
        expected, job = true_plan(truth)
        read = Plan()
        READERS[trainer](files, read, job)
        assert settled(read, job, read) == settled(expected, job, read), (
            f"{case.name}, {truth['way']}: {files}"
        )


@pytest.fixture(scope="module")
def accepted(written: Path) -> subprocess.CompletedProcess[str]:
    trainers = REPOSITORY / ".venv-trainers"
    if not (trainers / ".packsim").exists():
        pytest.skip(f"no {trainers} (cmake/install_trainers.sh)")
    script = Path(__file__).parent / "accept_settings.py"
    return subprocess.run(
        [sys.executable, "-W", "ignore", script, written],
        env={**os.environ, "PYTHONPATH": str(trainers)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("trainer", sorted(ACCEPT))
def test_a_trainers_own_configuration_accepts_its_settings(
    trainer: str, accepted: subprocess.CompletedProcess[str]
) -> None:
    assert f"{trainer}: 20 accepted" in accepted.stdout, accepted.stderr


def test_every_shipped_trainer_is_read() -> None:
    shipped = {path.stem for path in (REPOSITORY / "models/trainers").glob("*.json")}
    assert set(READERS) == shipped
