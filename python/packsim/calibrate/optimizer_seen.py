"""Which optimizer of a plan an optimizer of PyTorch is."""

from __future__ import annotations

from typing import Any

import torch

_ADAM = ("AdamW", "Adam", "FusedAdam", "DeepSpeedCPUAdam")
# The names of a plan of classes that have one way of keeping their states.
_ALONE = {
    "AdamW8bit": "adamw_8bit",
    "Adam8bit": "adamw_8bit",
    "PagedAdamW8bit": "paged_adamw_8bit",
    "PagedAdamW": "paged_adamw",
    "PagedAdamW32bit": "paged_adamw",
    "Adafactor": "adafactor",
    "Lion": "lion",
    "Muon": "muon",
}


def innermost(optimizer: Any) -> Any:
    """The optimizer inside those of accelerate and DeepSpeed."""
    while (inner := getattr(optimizer, "optimizer", None)) is not None and inner is not optimizer:
        optimizer = inner
    return optimizer


def optimizer_kind(optimizer: Any, has_bf16_weights: bool) -> str | None:
    """The name in a plan; None for an optimizer that no plan has.

    has_bf16_weights: of the layers, trained or not; fp32 adapters beside them are master weights.
    """
    has_master_weights = _has_master_weights(optimizer)
    optimizer = innermost(optimizer)
    name = type(optimizer).__name__
    if has_master_weights:
        return "adamw" if name in _ADAM else None
    bits = getattr(getattr(optimizer, "args", None), "optim_bits", None)  # of bitsandbytes
    if name in ("AdamW", "Adam") and bits is not None:
        paged = "paged_" if getattr(optimizer, "is_paged", False) else ""
        name = f"{paged}adamw_8bit" if bits == 8 else f"{paged}adamw"
        return name if bits == 8 or paged else None
    if name not in _ADAM:
        return _ALONE.get(name)
    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    weights = {parameter.dtype for parameter in trained}
    if weights == {torch.float32}:
        return "adamw" if has_bf16_weights else "adamw_fp32"
    states = {
        state.dtype
        for parameter in trained
        for state in optimizer.state.get(parameter, {}).values()
        if isinstance(state, torch.Tensor) and state.dim() > 0
    }
    return "adamw_bf16" if weights == {torch.bfloat16} and states <= weights else None


def described_optimizer(optimizer: Any) -> str:
    """Its class and what it trains, for messages."""
    optimizer = innermost(optimizer)
    groups = getattr(optimizer, "param_groups", [])
    formats = {str(parameter.dtype) for group in groups for parameter in group["params"]}
    names = ", ".join(sorted(formats)).replace("torch.", "")
    return f"{type(optimizer).__name__} of {names or 'unknown'} weights"


def _has_master_weights(optimizer: Any) -> bool:
    """DeepSpeed keeps fp32 weights beside those of 16 bits, in each of its stages."""
    while optimizer is not None:
        if type(optimizer).__module__.startswith("deepspeed.runtime"):
            return True
        inner = getattr(optimizer, "optimizer", None)
        optimizer = None if inner is optimizer else inner
    return False
