"""What rows say of a run as a whole: what is seen of it, checked against what its user says."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import torch
from torch import nn

from packsim._arguments import Problems, described
from packsim.calibrate.calls import Call
from packsim.calibrate.device import launch_s
from packsim.calibrate.documents_seen import rows_and_tokens, says_documents
from packsim.calibrate.model_file import config_beside, different_sizes, layers_in, named_model
from packsim.calibrate.model_seen import (
    attention_name,
    attention_over,
    check_text_alone,
    checkpointed_layers,
    is_compiled,
    kernels_of,
    lora_of,
    n_layers_of,
)
from packsim.calibrate.optimizer_seen import described_optimizer, optimizer_kind
from packsim.calibrate.parallelism_seen import ParallelismSeen, parallelism_of
from packsim.calibrate.said import Said
from packsim.torch.attention_routes import text_config, unwrapped

# Packages whose versions decide what a step takes, beside PyTorch.
_PACKAGES = (
    "packsim",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "deepspeed",
    "flash_attn",
    "liger_kernel",
)


@dataclass(frozen=True)
class RunFacts:
    """What all rows of a run have.

    Attributes
    ----------
    model_name : str
        As rows name it.
    n_layers, gc_layers, sp, tp, dp, zero : int
    attention : str
        "documents" or "rows": what attention works through.
    plan : dict
        Keys of a plan, of the rows' source.
    details : dict
        For people.
    token_flop, pair_flop : float
        Forward, of one token and of one pair of tokens that attention computes, to tell which process had
        most to do.
    """

    model_name: str
    n_layers: int
    gc_layers: int
    sp: int
    tp: int
    dp: int
    zero: int
    attention: str
    plan: dict[str, Any]
    details: dict[str, Any]
    token_flop: float
    pair_flop: float


class _Checks:
    """The mistakes of one run: what is said beside what is seen."""

    def __init__(self, said: Said, problems: Problems) -> None:
        self.said = said
        self.problems = problems

    def agreed(self, name: str, seen: int | str | None, where: str) -> Any:
        """What is said, or else seen; a mistake where both are there and differ."""
        said = getattr(self.said, name)
        if said is not None and seen is not None and said != seen:
            self.problems.add(f"{name}: expected {seen}, which is {where}, got {said}")
        return seen if said is None else said


def facts_of(
    said: Said,
    rows: str,
    model: nn.Module,
    optimizer: Any,
    calls: Sequence[Call],
    product_format: torch.dtype | None,
    rank: int,
    world_size: int,
) -> RunFacts:
    """The facts of a run of which one step has been seen.

    Parameters
    ----------
    rows : str
        The path that rows are written to.
    calls : sequence
        Forward passes of the step, none where the model is called otherwise.
    product_format
        Of what a matrix product of the model returned; None where none was seen.

    Raises
    ------
    ValueError
        For what rows cannot say, and for what is said and seen otherwise: all of it at once.
    """
    with Problems() as problems:
        checks = _Checks(said, problems)
        inner = unwrapped(model)
        with problems.collected():
            check_text_alone(inner)
        seen = parallelism_of(model)
        sp, tp, dp = _degrees(checks, seen, world_size)
        zero = _zero(checks, seen, world_size // tp)
        model_name, n_layers = _model(checks, inner, rows, writes=rank == 0)
        recomputed = checkpointed_layers(inner, n_layers)
        gc_layers = checks.agreed("gc_layers", recomputed.n_layers or None, "what the model recomputes") or 0
        attention = _attention(checks, inner, calls)
        _check_products(checks, product_format)
        lora = problems.value(lambda: lora_of(inner)) or {}
        plan = _plan(
            checks,
            seen={**_degrees_of_plan(seen), **lora, **_optimizer(checks, inner, optimizer)},
            assumed={
                **seen.plan,
                **_launch(inner),
                "kernels": kernels_of(inner),
                "loss": _loss(inner, calls),
                "recompute_stops_early": not recomputed.is_reentrant,
            },
        )
    config = text_config(inner)
    heads = getattr(config, "num_attention_heads", 0)
    head_dim = getattr(config, "head_dim", None) or getattr(config, "hidden_size", 0) // max(heads, 1)
    return RunFacts(
        model_name=model_name,
        n_layers=n_layers or 0,
        gc_layers=gc_layers,
        sp=sp,
        tp=tp,
        dp=dp,
        zero=zero,
        attention=attention,
        plan=plan,
        details=_details(inner, optimizer, world_size, product_format),
        token_flop=2.0 * sum(_n_values(parameter) for parameter in inner.parameters()),
        pair_flop=2.0 * (n_layers or 0) * heads * head_dim,
    )


def _degrees(checks: _Checks, seen: ParallelismSeen, world_size: int) -> tuple[int, int, int]:
    """(sp, tp, dp) of so many processes."""
    for name, words in (("cp", "ring attention"), ("pp", "a pipeline")):
        if name in seen.degrees:
            why = f"because rows of steps have no place for {words}"
            checks.problems.add(f"model: expected no {name}, {why}, got {seen.degrees[name]}")
    sp = checks.agreed("sp", seen.degrees.get("sp"), "what accelerate has") or 1
    tp = int(checks.said.plan.get("tp_degree", seen.degrees.get("tp", 1)))
    dp, rest = divmod(world_size, sp * tp)
    if rest or dp == 0:
        checks.problems.add(
            f"sp, plan.tp_degree: expected a product that divides the {world_size} processes, got {sp} x {tp}"
        )
    checks.agreed("dp", dp, f"what {world_size} processes are over sp {sp} x tp {tp}")
    return sp, tp, max(dp, 1)


def _degrees_of_plan(seen: ParallelismSeen) -> dict[str, int]:
    return {f"{name}_degree": seen.degrees[name] for name in ("tp", "ep") if name in seen.degrees}


def _zero(checks: _Checks, seen: ParallelismSeen, n_sharing: int) -> int:
    """n_sharing: processes that have the same weights."""
    if n_sharing <= 1:
        return checks.said.zero or 0
    zero = checks.agreed("zero", seen.zero, "how the model is wrapped")
    if zero is None:
        checks.problems.add(
            "zero: expected it, or a model in DistributedDataParallel, FSDP or DeepSpeed, as "
            f"{n_sharing} processes train it, got None"
        )
    return zero or 0


def _model(checks: _Checks, model: nn.Module, rows: str, writes: bool) -> tuple[str, int | None]:
    """(name in rows, layers)"""
    config, name = text_config(model), checks.said.model_name
    if name is None:
        if config is None:
            checks.problems.add(
                "model_name: expected a shipped model or the path of its file, as the model has no config of "
                f"transformers, got None for {type(model).__name__}"
            )
            return "", None
        return checks.problems.value(lambda: config_beside(rows, config, writes)) or "", n_layers_of(model)
    try:
        said = named_model(name)
    except ValueError as error:
        checks.problems.add(str(error))
        return name, None
    if config is not None:
        if said is not None and (different := different_sizes(said, config)):
            checks.problems.add(
                f"model_name: expected the model that is trained, got {name!r}: {', '.join(different)}"
            )
        return name, n_layers_of(model)
    n_layers = None if said is None else layers_in(said)
    if said is None:
        where = f"as packsim's data are not beside {sys.executable}"
        checks.problems.add(f"model_name: expected the path of a model's file, {where}, got {name!r}")
    elif n_layers is None:
        checks.problems.add(f"{name}: expected layers or num_hidden_layers, got neither")
    return name, n_layers


def _attention(checks: _Checks, model: nn.Module, calls: Sequence[Call]) -> str:
    seen = attention_over(model)
    found = checks.agreed("attention", seen, f"what {attention_name(model)} works through")
    if found is None:
        found = "documents" if any(says_documents(call.inputs) for call in calls) else "rows"
    return str(found)


def _check_products(checks: _Checks, product_format: torch.dtype | None) -> None:
    if product_format in (None, torch.bfloat16):
        return
    name = str(product_format).removeprefix("torch.")
    checks.problems.add(f"model: expected matrix products in bfloat16, as those of rows of steps, got {name}")


def _optimizer(checks: _Checks, model: nn.Module, optimizer: Any) -> dict[str, str]:
    weights = {parameter.dtype for name, parameter in model.named_parameters() if "lora_" not in name}
    kind = optimizer_kind(optimizer, has_bf16_weights=weights != {torch.float32})
    if kind is not None:
        return {"optimizer": kind}
    if "optimizer" not in checks.said.plan:
        checks.problems.add(
            "optimizer: expected one that plans have, or plan={'optimizer': ...} that says which is alike, "
            f"got {described_optimizer(optimizer)}"
        )
    return {}


def _loss(model: nn.Module, calls: Sequence[Call]) -> str:
    """By the logits of the first pass: where they are not there, or not whole, chunks of them were."""
    shape = calls[0].logits_shape if calls else None
    if text_config(model) is None:
        return "plain"
    is_whole = shape is not None and len(shape) > 1 and shape[-2] >= rows_and_tokens(calls[0].inputs)[1]
    return "upcast" if is_whole else "fused"


def _plan(checks: _Checks, seen: dict[str, Any], assumed: dict[str, Any]) -> dict[str, Any]:
    """What is seen cannot be said otherwise; what is assumed can."""
    said = dict(checks.said.plan)
    for key, value in seen.items():
        if key in said and said[key] != value:
            checks.problems.add(f"plan.{key}: expected {value!r}, which is seen, got {described(said[key])}")
    return assumed | seen | said


def _n_values(parameter: nn.Parameter) -> int:
    # DeepSpeed's stage 3 leaves none of its values in a parameter.
    return int(getattr(parameter, "ds_numel", parameter.numel()))


def _launch(model: nn.Module) -> dict[str, float]:
    """Of a GPU's host. What a CPU computes is not launched."""
    device = next(model.parameters()).device
    return {"launch_s": round(launch_s(device), 8)} if device.type == "cuda" else {}


def _details(
    model: nn.Module, optimizer: Any, world_size: int, product_format: torch.dtype | None
) -> dict[str, Any]:
    versions = {}
    for package in _PACKAGES:
        if package in sys.modules:
            try:
                versions[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
    return versions | {
        "attention": attention_name(model) or "unknown",
        "optimizer": described_optimizer(optimizer),
        "products": str(product_format or "unknown").removeprefix("torch."),
        "compiled": is_compiled(model),
        "processes": world_size,
        "processes_per_node": os.environ.get("LOCAL_WORLD_SIZE", str(world_size)),
        "threads_per_process": torch.get_num_threads(),
    }
