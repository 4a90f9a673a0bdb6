"""A model that is in training, measured so that training does not notice."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from packsim._arguments import Problems, described
from packsim.torch.attention_routes import text_config, unwrapped

_VALUES_OF_FINGERPRINT = 16  # of each parameter


def probed_model(model: object, problems: Problems) -> nn.Module:
    """The model inside DistributedDataParallel and the like, of which a process has all parameters."""
    if not isinstance(model, nn.Module):
        problems.add(f"model: expected a torch.nn.Module, got {described(model)}")
        return nn.Module()
    sharding = _sharding(model)
    if sharding:
        problems.add(
            "model: expected one of which every process has all parameters, as a process probes samples that "
            f"no other has at the time, got one sharded by {sharding}"
        )
    return unwrapped(model)


def _sharding(model: nn.Module) -> str:
    """Says by what the parameters are sharded; empty where they are not."""
    # Classes are found by name, so that nothing is imported that this PyTorch may not have.
    if any(type(part).__name__ == "FullyShardedDataParallel" for part in model.modules()):
        return "FullyShardedDataParallel"
    for name, parameter in model.named_parameters():
        if hasattr(parameter, "placements"):
            return f"fully_shard() or tensor parallelism (parameter {name} is a DTensor)"
        if hasattr(parameter, "ds_id"):
            return f"ZeRO-3 of DeepSpeed (parameter {name} has a ds_id)"
    return ""


def fingerprint(model: nn.Module) -> str:
    """A hash of the model's kind and name, its parameters' names and shapes, and some values of each.

    Training moves nearly all values, so models before and after it have different ones, and a model of
    billions of parameters takes no longer than reading a few thousand numbers.
    """
    digest = hashlib.blake2b(type(model).__name__.encode(), digest_size=16)
    digest.update(str(getattr(text_config(model), "_name_or_path", "")).encode())
    for name, parameter in model.named_parameters():
        digest.update(f"{name} {tuple(parameter.shape)} {parameter.dtype}".encode())
        digest.update(_some_values(parameter).tobytes())
    return digest.hexdigest()


def _some_values(parameter: Tensor) -> Any:
    flat = parameter.detach().reshape(-1)
    places = np.unique(np.linspace(0, max(len(flat) - 1, 0), _VALUES_OF_FINGERPRINT).astype(np.int64))
    if not len(flat):
        return np.zeros(0)
    return flat[torch.from_numpy(places).to(flat.device)].double().cpu().numpy()
