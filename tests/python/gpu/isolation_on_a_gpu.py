"""The cells of docs/isolation.md on a GPU: what attention_inputs() chooses, and what it is worth."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import cells
import flash_attention
import torch
import transformers
from torch import nn
from torch.nn.attention import flex_attention
from transformers import AutoModelForCausalLM

from packsim.torch import IsolationError, check_isolation

# FlexAttention's kernels need heads of at least 16.
SIZES = cells.SIZES | {"hidden_size": 64}
HEAD_DIM = 16
# What matters most comes first: a limit of time cuts the end off. FlashAttention has no kernels for 32 bits.
MODELS = ("Llama", "Qwen2", "Gemma 3", "Mistral", "Mixtral", "Gemma", "Gemma 2")
LEAST_S = 0.5  # a check is not begun for less
KINDS = (
    ("flash_attention_2", torch.bfloat16),
    ("sdpa", torch.bfloat16),
    ("eager", torch.bfloat16),
    ("sdpa", torch.float32),
    ("eager", torch.float32),
    ("flex_attention", torch.bfloat16),
    ("flex_attention", torch.float32),
)


def model_of(name: str, implementation: str, dtype: torch.dtype, device: torch.device) -> nn.Module:
    config, sizes = cells.MODELS[name]
    more = {
        key: HEAD_DIM if key in ("head_dim", "query_pre_attn_scalar") else value
        for key, value in sizes.items()
    }
    torch.manual_seed(0)
    made = getattr(transformers, config)(**SIZES, **more)
    model = AutoModelForCausalLM.from_config(made, attn_implementation=implementation, dtype=dtype)
    return model.to(device).train()


def check_cells(results: Any, device: torch.device, limit_s: float) -> None:
    transformers.logging.set_verbosity_error()
    model_of(MODELS[0], *KINDS[0], device)  # imports the code of models, which may take as long as the checks
    end = time.perf_counter() + limit_s
    left_out = []
    with dense_flex_attention():
        for (implementation, dtype), name in product(KINDS, MODELS):
            facts = facts_of(name, implementation, dtype, device)
            left_s = end - time.perf_counter()
            if left_s < LEAST_S:
                left_out.append(facts)
                continue
            results.add_of(
                facts,
                lambda: cell(model_of(name, implementation, dtype, device)),  # noqa: B023
                min(15.0, left_s),
            )
    names = [f"{one['model']}, {one['attention']}, {one['dtype']}" for one in left_out]
    results.add({"check": "isolation", "left_out": names, "flash_calls": flash_attention.calls})


def check_compiled_flex_attention(results: Any, device: torch.device, limit_s: float) -> None:
    """Its kernels, where cells have its dense form: each length of a row is compiled anew."""
    transformers.logging.set_verbosity_error()
    end = time.perf_counter() + limit_s
    for name in ("Llama", "Mistral"):
        if end - time.perf_counter() < LEAST_S:
            return
        results.add_of(
            facts_of(name, "flex_attention", torch.bfloat16, device)
            | {"attention": "flex_attention, compiled"},
            lambda: checked(model_of(name, "flex_attention", torch.bfloat16, device)),  # noqa: B023
            end - time.perf_counter(),
        )


def facts_of(name: str, implementation: str, dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    attention = implementation
    if implementation == "flash_attention_2":
        attention = flash_attention.NAME if device.type == "cuda" else flash_attention.NAME_ON_A_CPU
    elif implementation == "flex_attention":
        attention = "flex_attention, dense form"
    return {"check": "isolation", "model": name, "attention": attention, "dtype": str(dtype).split(".")[-1]}


def cell(model: nn.Module) -> dict[str, Any]:
    """`error` of cells.py is the relative difference of gradients from those of documents alone."""
    found = cells.cells_of(model)
    line = {
        "route": found.get("route", "refused"),
        "gradients_off": found.get("error"),
        "why_refused": found["why"],
    }
    for name, passed in found["passed"].items():
        key = name.replace(" ", "_")
        line |= {f"{key}_off": passed["error"], f"{key}_is_refused": bool(passed["refused"])}
    return line | checked(model)


def checked(model: nn.Module) -> dict[str, Any]:
    try:
        check_isolation(model, gradients=True)
    except IsolationError as error:
        return {"passes": False, "refusal": str(error)}
    return {"passes": True, "route": cells._route_of(model).name}


@contextmanager
def dense_flex_attention() -> Iterator[None]:
    """Compiling takes seconds for each length of a row, and there are many."""
    names = ("_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", "_validate_device")
    before = {name: getattr(flex_attention, name, None) for name in names}
    compile_before = torch.compile
    cells.use_dense_flex_attention()
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(flex_attention, name, value)
        torch.compile = compile_before
        forget_flex_attention()


def forget_flex_attention() -> None:
    """transformers keeps what it has compiled."""
    from transformers.integrations.flex_attention import WrappedFlexAttention

    for name, value in {
        "_instance": None,
        "_is_flex_compiled": False,
        "_compiled_flex_attention": None,
    }.items():
        setattr(WrappedFlexAttention, name, value)
