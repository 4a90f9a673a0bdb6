"""DeepSpeed's ZeRO and FSDP2, by hand and in trainers, end where training each sample on its own ends."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

import trainer_runs  # noqa: E402
import zero_runs  # noqa: E402
from process_pool import ProcessPool  # noqa: E402

import packsim  # noqa: E402

pytest.importorskip("deepspeed")

RUNS = {
    "DeepSpeed, ZeRO 1": (zero_runs.in_deepspeed, 1),
    "DeepSpeed, ZeRO 3": (zero_runs.in_deepspeed, 3),
    "Trainer, ZeRO 2": (zero_runs.in_trainer_of_deepspeed, 2),
    "accelerate, ZeRO 2": (zero_runs.in_accelerate_of_deepspeed, 2),
    "Trainer, FSDP2": (zero_runs.in_trainer_of_fsdp2, 0),
    "accelerate, FSDP2": (zero_runs.in_accelerate_of_fsdp2, 0),
    "Trainer, FSDP2, exchanging in each": (zero_runs.in_trainer_that_exchanges_each, 0),
    "accelerate, FSDP2, exchanging in each": (zero_runs.in_accelerate_that_exchanges_each, 0),
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
    run, stage = RUNS[name]
    found, other = two_processes.run(run, plan_bytes(accumulation), stage, accumulation, str(tmp_path))
    assert (found == other).all()
    expected, begin = unpacked(accumulation), trainer_runs.flat(trainer_runs.small_llama())
    assert float((found - expected).norm() / expected.norm()) < 1e-5
    # A wrong scale of the gradients, such as a division by the micro-batches, would show here first.
    assert float((found - begin).norm() / (expected - begin).norm()) == pytest.approx(1, abs=5e-4)


def loader_of(**settings: Any) -> None:
    from packsim.trainers import engine_loader

    engine = SimpleNamespace(**{"dp_world_size": 2, **settings})
    engine_loader(engine, packsim.Plan.from_bytes(plan_bytes(1)), trainer_runs.samples())


def refused(**settings: Any) -> list[str]:
    with pytest.raises(ValueError) as caught:
        loader_of(**settings)
    return str(caught.value).splitlines()


def never() -> bool:
    return False


def test_engines_that_scale_or_step_otherwise_are_refused_at_once(two_processes: ProcessPool) -> None:
    wrong = partial(refused, gradient_average=False, managed_gradient_accumulation=never, dp_world_size=1)
    for mistakes in two_processes.run(wrong):
        assert mistakes == [
            'deepspeed: gradient_allreduce_op: expected "mean", because the loss is scaled for the mean over '
            'processes, got "sum"',
            "deepspeed: managed_gradient_accumulation: expected true, because the plan says which "
            "micro-batch is the last of a step, got false",
            "engine: expected 2 data-parallel processes, as each trains packs of its own, got 1",
        ]
    two_processes.run(loader_of)


def test_accelerators_that_share_sequences_or_sum_gradients_are_refused_at_once() -> None:
    from packsim.trainers import packed_loader

    plugin = SimpleNamespace(deepspeed_config={"gradient_allreduce_op": "sum"})
    accelerator = SimpleNamespace(
        parallelism_config=SimpleNamespace(tp_size=2, cp_size=1, sp_size=4),
        state=SimpleNamespace(deepspeed_plugin=plugin),
    )
    with pytest.raises(ValueError) as caught:
        packed_loader(accelerator, packsim.Plan.from_bytes(plan_bytes(1)), trainer_runs.samples())
    assert str(caught.value).splitlines() == [
        "accelerator.parallelism_config.tp_size: expected 1, got 2",
        "accelerator.parallelism_config.sp_size: expected 1, got 4",
        'deepspeed: gradient_allreduce_op: expected "mean", because the loss is scaled for the mean over '
        'processes, got "sum"',
    ]
