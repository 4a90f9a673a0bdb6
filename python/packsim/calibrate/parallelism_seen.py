"""How processes share a training: what can be seen of it in a model, and what accelerate says."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

# DistributedDataParallel's default, in MiB.
_BUCKET_MIB = 25


@dataclass
class ParallelismSeen:
    """None, or nothing: what cannot be seen.

    Attributes
    ----------
    zero : int or None
        ZeRO stage.
    degrees : dict of str to int
        Those above 1, of tp, sp, cp, pp, ep.
    plan : dict
        Keys of a plan that say how gradients and weights are sent.
    """

    zero: int | None = None
    degrees: dict[str, int] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)


def parallelism_of(model: nn.Module) -> ParallelismSeen:
    """What the model itself shows, else what accelerate has prepared it for."""
    seen = ParallelismSeen(plan={"overlaps_states": True, "plain_gradients": True, "fp32_gradients": False})
    seen.plan["bucket_elements"] = _bucket_elements(model)
    _see_meshes(model, seen)
    _see_data_parallel(model, seen)
    _see_accelerate(seen)
    return seen


def _see_data_parallel(model: nn.Module, seen: ParallelismSeen) -> None:
    if isinstance(model, DistributedDataParallel):
        seen.zero = 0
        return
    if hasattr(model, "zero_optimization_stage"):
        engine: Any = model  # DeepSpeed's
        _see_deepspeed(engine.zero_optimization_stage(), engine.config, seen)
        return
    for module in model.modules():
        if type(module).__name__ == "FullyShardedDataParallel":
            strategy = getattr(getattr(module, "sharding_strategy", None), "name", "FULL_SHARD")
            seen.zero = {"NO_SHARD": 0, "SHARD_GRAD_OP": 2, "_HYBRID_SHARD_ZERO2": 2}.get(strategy, 3)
            return
    sharded: list[Any] = [module for module in model.modules() if _is_fully_sharded(module)]
    states = [module._get_fsdp_state() for module in sharded]
    if states:
        # The root keeps its weights by default; any other unit says what was asked for.
        units = states[1:] or states
        seen.zero = 3 if any(_reshards(state) for state in units) else 2


def _is_fully_sharded(module: Any) -> bool:
    return type(module).__name__.startswith("FSDP") and hasattr(module, "_get_fsdp_state")


def _reshards(state: Any) -> bool:
    # Versions of PyTorch before 2.12 have one group.
    groups = state._fsdp_param_groups if hasattr(state, "_fsdp_param_groups") else [state._fsdp_param_group]
    return any(group is not None and group.post_forward_mesh_info is not None for group in groups)


def _see_meshes(model: nn.Module, seen: ParallelismSeen) -> None:
    """Weights in pieces say over how many GPUs, by the names of the meshes' dimensions."""
    for parameter in model.parameters():
        mesh = getattr(parameter, "device_mesh", None)
        names = getattr(mesh, "mesh_dim_names", None)
        if mesh is None or names is None:
            continue
        for index, name in enumerate(names):
            if (degree := mesh.size(index)) > 1:
                _add_degree(name, degree, seen)
    if (degree := getattr(model, "tp_size", None) or 1) > 1:  # of transformers
        seen.degrees["tp"] = degree


def _add_degree(name: str, degree: int, seen: ParallelismSeen) -> None:
    short = {"tensor_parallel": "tp", "context_parallel": "cp", "expert_parallel": "ep"}.get(name, name)
    if short in ("tp", "cp", "ep", "pp"):
        seen.degrees[short] = degree
    if short in ("dp_shard", "fsdp_shard") and "shard_degree" not in seen.plan:
        seen.plan["shard_degree"] = degree


def accelerator_state() -> Any:
    """What accelerate has been set to in this process; None where it has not."""
    module = sys.modules.get("accelerate.state")
    return module.AcceleratorState() if module is not None and module.is_initialized() else None


def _see_accelerate(seen: ParallelismSeen) -> None:
    state = accelerator_state()
    if state is None:
        return
    config = getattr(state, "parallelism_config", None)
    for name in ("tp", "sp", "ep", "cp", "pp"):
        if (degree := getattr(config, f"{name}_size", None) or 1) > 1:
            seen.degrees[name] = degree
    if seen.zero is not None:
        return
    kind = state.distributed_type.value
    if kind == "DEEPSPEED":
        plugin = state.deepspeed_plugin
        _see_deepspeed(int(plugin.zero_stage), plugin.deepspeed_config, seen)
    elif kind.startswith("MULTI_"):  # accelerate then wraps the model in DistributedDataParallel
        seen.zero = 0


def _see_deepspeed(stage: int, config: Any, seen: ParallelismSeen) -> None:
    seen.zero = stage
    config = config if isinstance(config, dict) else {}  # else the path of one
    zero = config.get("zero_optimization", {})
    formats = config.get("data_types", {})
    overlaps = zero.get("overlap_comm")
    seen.plan |= {
        "plain_gradients": False,
        "overlaps_states": bool(stage == 3 if overlaps is None else overlaps),
        "fp32_gradients": formats.get("grad_accum_dtype") == "fp32",
    }
    bucket = zero.get("reduce_bucket_size", 500_000_000)
    seen.plan["bucket_elements"] = int(bucket) if isinstance(bucket, (int, float)) else 500_000_000


def _bucket_elements(model: nn.Module) -> int:
    """Gradients in a bucket of DistributedDataParallel, the model's or its default."""
    size_bytes = getattr(model, "bucket_bytes_cap", _BUCKET_MIB << 20)
    formats = [parameter.dtype for parameter in model.parameters() if parameter.requires_grad]
    return int(size_bytes) // (formats[0] if formats else torch.bfloat16).itemsize
