"""The ways to tell a model of transformers where documents end, cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from packsim.torch.attention_masks import additive_document_mask, document_block_mask


@dataclass(frozen=True)
class AttentionRoute:
    """One way.

    Attributes
    ----------
    name : str
        In messages.
    inputs : callable
        From a packed batch to the keyword arguments beside `input_ids` and `position_ids`.
    """

    name: str
    inputs: Callable[[Mapping[str, Any]], dict[str, Any]]


def attention_routes(model: nn.Module) -> Iterator[AttentionRoute]:
    """Those that may work with this model, in the order in which to try them."""
    config = text_config(model)
    if config is None and "cu_seqlens" in signature(unwrapped(model).forward).parameters:
        yield AttentionRoute("cu_seqlens", lambda batch: {"cu_seqlens": batch["cu_seqlens"]})
        return
    implementation = getattr(config, "_attn_implementation", None) or "eager"
    if "flash" in implementation:
        yield AttentionRoute("where documents begin, for FlashAttention", _flash_inputs)
    yield AttentionRoute("positions", lambda batch: {})
    if "flash" in implementation:
        return
    make = document_block_mask if implementation == "flex_attention" else _additive_mask(model)
    what = "FlexAttention's block mask" if implementation == "flex_attention" else "4-D mask"
    window_tokens = sliding_window_tokens(model)
    if window_tokens is not None and _has_layers_of_both_kinds(config):
        yield AttentionRoute(f"{what} of each kind of layer", _mask_of_each_kind(make, window_tokens))
    yield AttentionRoute(what, lambda batch: {"attention_mask": make(batch["cu_seqlens"], None)})
    if window_tokens is not None:
        yield AttentionRoute(
            f"{what} with the window",
            lambda batch: {"attention_mask": make(batch["cu_seqlens"], window_tokens)},
        )


def sliding_window_tokens(model: nn.Module) -> int | None:
    """The window of its sliding-window layers; None for a model without."""
    config = text_config(model)
    if not getattr(config, "use_sliding_window", True):
        return None
    return getattr(config, "sliding_window", None)


def unwrapped(model: nn.Module) -> nn.Module:
    """What DistributedDataParallel, DeepSpeed and the like wrap."""
    while not _is_of_transformers(model) and isinstance(inner := getattr(model, "module", None), nn.Module):
        model = inner
    return model


def text_config(model: nn.Module) -> Any:
    """The config of a model of transformers, of its text where it takes more; None for other models."""
    inner = unwrapped(model)
    if not _is_of_transformers(inner):
        return None
    config: Any = inner.config
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _is_of_transformers(model: nn.Module) -> bool:
    # Models of others may have a `config`, too; DeepSpeed's engine has one.
    return hasattr(getattr(model, "config", None), "model_type")


def _flash_inputs(batch: Mapping[str, Any]) -> dict[str, Any]:
    cu_seqlens, longest_tokens = batch["cu_seqlens"], int(batch["max_seqlen"])
    return {
        "cu_seq_lens_q": cu_seqlens,
        "cu_seq_lens_k": cu_seqlens,
        "max_length_q": longest_tokens,
        "max_length_k": longest_tokens,
    }


_MakeMask = Callable[[Tensor, "int | None"], Any]


def _additive_mask(model: nn.Module) -> _MakeMask:
    # A mask of booleans would be added to the scores as 0 and 1 by eager attention, without a word.
    floats = (parameter.dtype for parameter in model.parameters() if parameter.dtype.is_floating_point)
    dtype = next(floats, torch.float32)
    return lambda cu_seqlens, window_tokens: additive_document_mask(cu_seqlens, dtype, window_tokens)


def _mask_of_each_kind(make: _MakeMask, window_tokens: int) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def inputs(batch: Mapping[str, Any]) -> dict[str, Any]:
        masks = {
            "full_attention": make(batch["cu_seqlens"], None),
            "sliding_attention": make(batch["cu_seqlens"], window_tokens),
        }
        return {"attention_mask": masks}

    return inputs


def _has_layers_of_both_kinds(config: Any) -> bool:
    return {"full_attention", "sliding_attention"} <= set(getattr(config, "layer_types", None) or ())
