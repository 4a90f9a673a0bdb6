"""What accelerate and DeepSpeed must be set to, so that each process trains packs of its own."""

from __future__ import annotations

from typing import Any

from packsim._arguments import Problems


def check_accelerator(accelerator: Any, place: str) -> None:
    """ValueError for an accelerator whose processes share a sequence, or whose DeepSpeed sums gradients up.

    place: of `parallelism_config` in messages.
    """
    with Problems() as problems:
        parallelism = getattr(accelerator, "parallelism_config", None)
        for name in ("tp_size", "cp_size", "sp_size"):
            degree = getattr(parallelism, name, 1)
            if degree > 1:
                problems.add(f"{place}.parallelism_config.{name}: expected 1, got {degree}")
        plugin = getattr(accelerator.state, "deepspeed_plugin", None)
        if plugin is not None:
            config = plugin.deepspeed_config
            is_managed = config.get("managed_gradient_accumulation", True)
            add_deepspeed_problems(problems, config.get("gradient_allreduce_op", "mean"), is_managed)


def add_deepspeed_problems(problems: Problems, operation: str, is_managed: bool) -> None:
    """Adds those of `gradient_allreduce_op` and `managed_gradient_accumulation` in a DeepSpeed
    configuration."""
    if operation != "mean":
        why = "because the loss is scaled for the mean over processes"
        problems.add(f'deepspeed: gradient_allreduce_op: expected "mean", {why}, got "{operation}"')
    if not is_managed:
        problems.add(
            "deepspeed: managed_gradient_accumulation: expected true, because the plan says which "
            "micro-batch is the last of a step, got false"
        )


def exchanges_gradients(accelerator: Any, is_last: bool) -> bool:
    """Whether the backward pass of a micro-batch exchanges gradients: that of the last one of a step does.

    With `sync_each_batch` of accelerate's gradient accumulation all do, so that each process keeps its shard
    of them alone.
    """
    return is_last or bool(accelerator.gradient_state.plugin_kwargs.get("sync_each_batch", False))
