"""The kernels of a layer of transformers' models, counted under PyTorch's dispatcher on a CPU."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import torch
import transformers
from launch_cases import FAMILIES, LORA_RANK, N_TOKENS, SIZES, Training
from peft import LoraConfig, get_peft_model
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS


# The kernels of FlashAttention-2 for documents in one row, whose values nobody looks at.
@torch.library.custom_op("packsim_counts::attention", mutates_args=())
def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.zeros_like(query)


@torch.library.custom_op("packsim_counts::attention_backward", mutates_args=())
def attention_backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.zeros_like(query), torch.zeros_like(query), torch.zeros_like(query)


def _keep_inputs(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
    query, key, value = ctx.saved_tensors
    of_query, of_key, of_value = attention_backward(gradient, query, key, value)
    # FlashAttention-2 makes gradients of keys and values for each query head, and then adds them up.
    return of_query, *(of_heads.unflatten(1, (key.shape[1], -1)).sum(2) for of_heads in (of_key, of_value))


attention.register_autograd(_gradients, setup_context=_keep_inputs)


def _attend(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **more: Any
) -> tuple[Tensor, None]:
    """As transformers calls FlashAttention-2 with a packed row: [1, heads, tokens, width] each."""
    rows = [tensor.transpose(1, 2).flatten(0, 1).contiguous() for tensor in (query, key, value)]
    if query.dtype == torch.float32:  # rotated in fp32 under autocast
        rows = [row.to(torch.bfloat16) for row in rows]
    return attention(*rows)[None], None


ALL_ATTENTION_FUNCTIONS.register("packsim_counts", _attend)

# FlashAttention-2: a sum over gradient and output, the gradients, and that of queries from fp32 to bf16.
_KERNELS = {"packsim_counts::attention_backward": 3}
_NO_KERNELS = {"aten::_unsafe_view", "aten::empty_like"}


class Launches(TorchDispatchMode):
    """Counts kernels by the names of their operations."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        if not func.is_view and name not in _NO_KERNELS:
            self.by_name[name] += _KERNELS.get(name, 1)
        if name == "aten::slice_backward" and args[0].numel() > 0:
            self.by_name[name] += 1  # zeros, into which the gradient is copied
        return func(*args, **(kwargs or {}))


def _model(family: str, n_layers: int, training: Training) -> torch.nn.Module:
    named = FAMILIES[family]
    config = getattr(transformers, named.config)(
        **SIZES, **named.more, num_hidden_layers=n_layers, use_cache=False
    )
    model = transformers.AutoModelForCausalLM.from_config(
        config, dtype=getattr(torch, training.dtype), attn_implementation="packsim_counts"
    )
    if training.checkpoints:
        model.activation_checkpointing_enable({"use_reentrant": False})
    if training.lora:
        adapters = LoraConfig(r=LORA_RANK, target_modules="all-linear", task_type="CAUSAL_LM")
        model = get_peft_model(model, adapters)
    return model.train()


def _passes(family: str, n_layers: int, training: Training) -> tuple[Counter[str], Counter[str]]:
    """The kernels of the forward and the backward pass of a step's first micro-batch."""
    model = _model(family, n_layers, training)
    tokens = torch.arange(N_TOKENS)[None]
    with Launches() as forward, torch.autocast("cpu", torch.bfloat16, enabled=training.autocast):
        loss = model(input_ids=tokens, position_ids=tokens, labels=tokens).loss
    with Launches() as backward:
        loss.backward()
    return forward.by_name, backward.by_name


@cache
def layer_kernels(family: str, training: Training) -> tuple[Counter[str], Counter[str]]:
    """What a third layer adds, forward and backward with what is recomputed."""
    two, three = (_passes(family, n_layers, training) for n_layers in (2, 3))
    return three[0] - two[0], three[1] - two[1]
