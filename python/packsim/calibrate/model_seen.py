"""What can be seen of a model: its layers, how they are computed, and what of it is trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from packsim._arguments import Problems
from packsim.calibrate.parallelism_seen import accelerator_state
from packsim.torch.attention_routes import text_config, unwrapped
from packsim.torch.checkpointed_layers import checkpointed_by

# Packages whose modules take the place of a model's, and the kernels of a plan that they are.
_KERNEL_PACKAGES = {"liger_kernel": "liger", "transformer_engine": "transformer_engine"}
_MOST_NAMES = 3  # of parameters in a message


@dataclass(frozen=True)
class Checkpointed:
    """Layers that the backward pass recomputes.

    Attributes
    ----------
    n_layers : int
    is_reentrant : bool
        Then the whole layer runs again.
    """

    n_layers: int = 0
    is_reentrant: bool = False


def layers_of(model: nn.Module, n_layers: int | None) -> list[nn.Module]:
    """The layers of the first list of so many modules; none for a number that is not known."""
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and len(module) == n_layers:
            return list(module)
    return []


def checkpointed_layers(model: nn.Module, n_layers: int | None) -> Checkpointed:
    """Those of transformers, of PyTorch's wrapper, and of `packsim.torch.CheckpointedLayers`."""
    if (ours := checkpointed_by(model)) is not None:
        return Checkpointed(ours.n_recomputed)
    wrapped = [module for module in model.modules() if type(module).__name__ == "CheckpointWrapper"]
    if wrapped:
        implementation = getattr(getattr(wrapped[0], "checkpoint_impl", None), "name", "")
        return Checkpointed(len(wrapped), implementation == "REENTRANT")
    marked = [module for module in model.modules() if getattr(module, "gradient_checkpointing", False)]
    if not marked or not model.training:
        return Checkpointed()
    # Earlier versions of transformers mark the module with the layers, which then all are.
    layers = layers_of(model, n_layers)
    of_layers = [layer for layer in layers if getattr(layer, "gradient_checkpointing", False)]
    function = getattr(marked[0], "_gradient_checkpointing_func", None)
    is_reentrant = getattr(function, "keywords", {}).get("use_reentrant", False)
    return Checkpointed(len(of_layers) or n_layers or 0, bool(is_reentrant))


def attention_over(model: nn.Module) -> str | None:
    """Whether attention works through "documents" or whole "rows"; None for what is not of transformers."""
    name = attention_name(model)
    if name is None:
        return None
    return "documents" if "flash" in name or "flex" in name else "rows"


def attention_name(model: nn.Module) -> str | None:
    """The implementation, as transformers calls it."""
    config = text_config(model)
    return None if config is None else str(getattr(config, "_attn_implementation", None) or "eager")


def is_compiled(model: nn.Module) -> bool:
    """Whether torch.compile has it, or a part of it, or accelerate wraps it so."""
    state = accelerator_state()
    backend = getattr(getattr(getattr(state, "dynamo_plugin", None), "backend", None), "value", "NO")
    return backend != "NO" or any(
        hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
        for module in model.modules()
    )


def kernels_of(model: nn.Module) -> str:
    """The name of the kernels in a plan."""
    if is_compiled(model):
        return "compiled"
    for module in model.modules():
        for origin in (type(module).__module__, getattr(module.forward, "__module__", None) or ""):
            if (package := origin.split(".")[0]) in _KERNEL_PACKAGES:
                return _KERNEL_PACKAGES[package]
    return "mixed" if text_config(model) is None else "eager"


def lora_of(model: nn.Module) -> dict[str, Any]:
    """The keys of a plan that say what is trained: none where all parameters are.

    Raises
    ------
    ValueError
        For parameters that are frozen without LoRA, or trained beside it, and for several ranks.
    """
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    adapted = {
        name.rsplit(".", 1)[-1]: module for name, module in model.named_modules() if hasattr(module, "lora_A")
    }
    if not adapted:
        if frozen:
            raise ValueError(f"model: expected all parameters to be trained, or LoRA, got {_frozen(frozen)}")
        return {}
    with Problems() as problems:
        trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
        others = [name for name in trained if "lora_" not in name]
        if others:
            problems.add(f"model: expected nothing trained beside LoRA, got {_named(others)}")
        ranks = {int(rank) for module in adapted.values() for rank in _ranks(module)}
        if len(ranks) != 1:
            problems.add(f"model: expected adapters of one rank, got {sorted(ranks)}")
        formats = {type(module).__name__ for module in model.modules()}
        if "Linear8bitLt" in formats:
            problems.add("model: expected frozen weights in bf16 or nf4, got Linear8bitLt")
    plan: dict[str, Any] = {"lora_rank": ranks.pop(), "lora_target_modules": sorted(adapted)}
    return plan | ({"frozen_weights": "nf4"} if "Linear4bit" in formats else {})


def _ranks(module: Any) -> Iterator[int]:
    """Of each adapter: PEFT has a dict of them by name."""
    yield from module.r.values() if isinstance(module.r, dict) else [module.r]


def _frozen(names: list[str]) -> str:
    return f"{len(names)} that are frozen, {_named(names)}"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def n_layers_of(model: nn.Module) -> int | None:
    """Of a model of transformers."""
    return getattr(text_config(model), "num_hidden_layers", None)


def check_text_alone(model: nn.Module) -> None:
    """ValueError for a model that has an encoder of images or audio beside its text."""
    config = getattr(unwrapped(model), "config", None)
    if text_config(model) is not None and text_config(model) is not config:
        expected = "expected one of text alone, as rows of steps have no other parts"
        raise ValueError(f"model: {expected}, got {type(config).__name__}")
