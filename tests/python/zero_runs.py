"""The training of trainer_runs.py with states of the model shared out: DeepSpeed's ZeRO, and FSDP2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import trainer_runs
from torch import Tensor, nn
from trainer_runs import N_STEPS

import packsim

# DeepSpeed looks for a GPU otherwise; both are read when it is imported.
os.environ |= {"DS_ACCELERATOR": "cpu", "DS_LOG_LEVEL": "error"}


def deepspeed_config(stage: int, accumulation: int | str, micro_batch_size: int | str = 1) -> dict[str, Any]:
    sizes = {"train_micro_batch_size_per_gpu": micro_batch_size, "gradient_accumulation_steps": accumulation}
    return {**sizes, "zero_optimization": {"stage": stage}, "zero_allow_untested_optimizer": True}


def deepspeed_without_compiler() -> Any:
    """It would compile a kernel for collectives in shared memory first, which takes up to two minutes.

    ZeRO 3 refuses a model of float64 where the processor computes in float16, and only there.
    """
    import deepspeed

    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.accelerator.get_accelerator().is_fp16_supported = lambda: False
    return deepspeed


@contextmanager
def fresh_accelerate() -> Iterator[None]:
    """Its state is one for a process: no run may see what another has set."""
    from accelerate.state import AcceleratorState, GradientState

    before = dict(os.environ)
    trainer_runs.as_torchrun_sets()
    AcceleratorState._reset_state(True)
    GradientState._reset_state()
    try:
        yield
    finally:
        AcceleratorState._reset_state(True)
        os.environ.clear()
        os.environ.update(before)


def whole_flat(model: nn.Module) -> Tensor:
    """The parameters, of all processes."""
    import deepspeed

    parameters = list(model.parameters())
    with deepspeed.zero.GatheredParameters([one for one in parameters if hasattr(one, "ds_id")]):
        return torch.cat([_whole(parameter).detach().flatten() for parameter in parameters])


def _whole(parameter: Tensor) -> Tensor:
    return parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter


def in_deepspeed(plan_bytes: bytes, stage: int, accumulation: int, folder: str) -> Tensor:
    from packsim.trainers import engine_loader

    del folder
    deepspeed = deepspeed_without_compiler()
    trainer_runs.as_torchrun_sets()
    plan = packsim.Plan.from_bytes(plan_bytes)
    model = trainer_runs.small_llama()
    optimizer = trainer_runs.gradient_descent(model)
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=optimizer, config=deepspeed_config(stage, accumulation)
    )
    loader = engine_loader(engine, plan, trainer_runs.samples())
    while loader.steps_done < N_STEPS:
        for batch in loader:
            loader.backward(loader.loss(batch), batch)
            engine.step()
            if loader.steps_done == N_STEPS:
                break
    assert engine.global_steps == N_STEPS
    return whole_flat(model)


def in_trainer_of_deepspeed(plan_bytes: bytes, stage: int, accumulation: int, folder: str) -> Tensor:
    deepspeed_without_compiler()
    config = deepspeed_config(stage, "auto", "auto")
    return _in_trainer(
        plan_bytes, folder, "DEEPSPEED", deepspeed=config, gradient_accumulation_steps=accumulation
    )


def in_accelerate_of_deepspeed(plan_bytes: bytes, stage: int, accumulation: int, folder: str) -> Tensor:
    from accelerate import DeepSpeedPlugin

    del folder
    deepspeed_without_compiler()
    plugin = DeepSpeedPlugin(hf_ds_config=deepspeed_config(stage, accumulation))
    return _in_accelerate(plan_bytes, accumulation, "DEEPSPEED", deepspeed_plugin=plugin)


def in_trainer_of_fsdp2(plan_bytes: bytes, stage: int, accumulation: int, folder: str) -> Tensor:
    del stage
    with _fsdp2_on_cpus():
        return _in_trainer(plan_bytes, folder, "FSDP", gradient_accumulation_steps=accumulation)


def in_trainer_that_exchanges_each(plan_bytes: bytes, stage: int, accumulation: int, folder: str) -> Tensor:
    del stage
    each = {"gradient_accumulation_kwargs": {"sync_each_batch": True}}
    with _fsdp2_on_cpus(), _without_no_sync():
        return _in_trainer(
            plan_bytes, folder, "FSDP", gradient_accumulation_steps=accumulation, accelerator_config=each
        )


def in_accelerate_that_exchanges_each(
    plan_bytes: bytes, stage: int, accumulation: int, folder: str
) -> Tensor:
    from accelerate.utils import GradientAccumulationPlugin

    del stage, folder
    each = GradientAccumulationPlugin(num_steps=accumulation, sync_each_batch=True)
    with _fsdp2_on_cpus() as plugin, _without_no_sync():
        return _in_accelerate(
            plan_bytes, None, "FSDP", cpu=True, fsdp_plugin=plugin, gradient_accumulation_plugin=each
        )


def in_accelerate_of_fsdp2(plan_bytes: bytes, stage: int, accumulation: int, folder: str) -> Tensor:
    del stage, folder
    with _fsdp2_on_cpus() as plugin:
        return _in_accelerate(plan_bytes, accumulation, "FSDP", cpu=True, fsdp_plugin=plugin)


def _in_trainer(plan_bytes: bytes, folder: str, kind: str, **more: Any) -> Tensor:
    from transformers import TrainingArguments

    from packsim.trainers import PackedTrainer

    with fresh_accelerate():
        args = trainer_runs.trainer_arguments(TrainingArguments, folder, **more)
        plan = packsim.Plan.from_bytes(plan_bytes)
        model = trainer_runs.small_llama()
        trainer = PackedTrainer(model, args, plan=plan, train_dataset=trainer_runs.samples())
        trainer.train()
        assert trainer.accelerator.distributed_type.value == kind
        return whole_flat(trainer.model_wrapped)


def _in_accelerate(plan_bytes: bytes, accumulation: int | None, kind: str, **plugins: Any) -> Tensor:
    from accelerate import Accelerator

    from packsim.trainers import packed_loader

    with fresh_accelerate():
        if accumulation is not None:
            plugins["gradient_accumulation_steps"] = accumulation
        accelerator = Accelerator(**plugins)
        plan = packsim.Plan.from_bytes(plan_bytes)
        loader = packed_loader(accelerator, plan, trainer_runs.samples())
        model = trainer_runs.small_llama()
        parallel, optimizer = accelerator.prepare(model, trainer_runs.gradient_descent(model))
        assert accelerator.distributed_type.value == kind
        while loader.steps_done < N_STEPS:
            for batch in loader:
                with loader.accumulate(parallel):
                    loader.backward(loader.loss(parallel, batch))
                    optimizer.step()
                    optimizer.zero_grad()
                if loader.steps_done == N_STEPS:
                    break
        return whole_flat(parallel)


@contextmanager
def _without_no_sync() -> Iterator[None]:
    """Whoever puts an exchange of gradients off fails."""
    from accelerate import Accelerator

    def refuse(self: Any, model: Any) -> None:
        raise AssertionError("expected gradients to be exchanged")

    kept, Accelerator.no_sync = Accelerator.no_sync, refuse
    try:
        yield
    finally:
        Accelerator.no_sync = kept


@contextmanager
def _fsdp2_on_cpus() -> Iterator[Any]:
    """accelerate leaves FSDP out on CPUs: this gives its state what it has on GPUs."""
    from accelerate import FullyShardedDataParallelPlugin
    from accelerate.state import AcceleratorState
    from accelerate.utils import DistributedType

    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2,
        auto_wrap_policy="transformer_based_wrap",
        transformer_cls_names_to_wrap=["LlamaDecoderLayer"],
    )
    made = AcceleratorState.__init__

    def make(self: Any, *arguments: Any, **named: Any) -> None:
        made(self, *arguments, **named)
        self._shared_state |= {"distributed_type": DistributedType.FSDP, "fsdp_plugin": plugin}

    AcceleratorState.__init__ = make
    try:
        yield plugin
    finally:
        AcceleratorState.__init__ = made
