"""The cells of the isolation table under the transformers that is installed, as JSON.

Small random models are trained for one backward pass on a packed row, with what `attention_inputs()` passes
and with what training loops pass otherwise. The gradients are compared with those of each document on its
own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import flex_attention
from transformers import AutoModelForCausalLM

from packsim.torch import IsolationError, PackedBatch, attention_inputs, check_isolation
from packsim.torch.isolation import _route_of

WINDOW_TOKENS = 6
LENGTHS_TOKENS = (9, 5, 12, 1, 7)  # two documents are longer than the window
IMPLEMENTATIONS = ("eager", "sdpa", "flex_attention")
SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
}
WINDOW = {"sliding_window": WINDOW_TOKENS}
GEMMA = {"head_dim": 8, "query_pre_attn_scalar": 8} | WINDOW
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama": ("LlamaConfig", {}),
    "Qwen2": ("Qwen2Config", {}),
    "Gemma": ("GemmaConfig", {"head_dim": 8}),
    "Gemma 2": ("Gemma2Config", GEMMA),
    "Gemma 3": ("Gemma3TextConfig", GEMMA | {"sliding_window_pattern": 2}),
    "Mistral": ("MistralConfig", WINDOW),
    "Mixtral": ("MixtralConfig", {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}),
}
# What a training loop may pass beside input_ids and position_ids.
PASSED: dict[str, dict[str, Any]] = {
    "positions": {},
    "positions and a mask of ones": {"attention_mask": torch.ones(1, sum(LENGTHS_TOKENS), dtype=torch.long)},
}


def documents() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(1, 64, (n_tokens,), generator=generator) for n_tokens in LENGTHS_TOKENS]


def packed(parts: list[Tensor]) -> PackedBatch:
    lengths_tokens = torch.tensor([len(part) for part in parts])
    return PackedBatch(
        {
            "input_ids": torch.cat(parts)[None],
            "position_ids": torch.cat([torch.arange(len(part)) for part in parts])[None],
            "cu_seqlens": functional.pad(lengths_tokens.cumsum(0), (1, 0)).to(torch.int32),
            "max_seqlen": int(lengths_tokens.max()),
        }
    )


def gradients(model: nn.Module, rows: list[list[Tensor]], inputs: Callable[[PackedBatch], Any]) -> Tensor:
    model.zero_grad()
    device = next(model.parameters()).device
    for row in rows:
        logits = model(**inputs(packed(row).to(device))).logits[0].float().split([len(part) for part in row])
        losses = [
            functional.cross_entropy(part[:-1], ids[1:].to(device), reduction="sum")
            for part, ids in zip(logits, row, strict=True)
        ]
        sum(losses).backward()  # type: ignore[union-attr]
    found = [p.grad if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]
    return torch.cat([gradient.flatten().float() for gradient in found])


def alone(batch: PackedBatch) -> dict[str, Any]:
    return {"input_ids": batch["input_ids"], "use_cache": False}


def relative_error(model: nn.Module, inputs: Callable[[PackedBatch], Any], expected: Tensor) -> float:
    found = gradients(model, [documents()], inputs)
    return float((found - expected).norm() / expected.norm())


def refusal(check: Callable[[], None]) -> str:
    try:
        check()
    except IsolationError as error:
        return str(error)
    return ""


def cells_of(model: nn.Module) -> dict[str, Any]:
    """With `route`: what attention_inputs() passes. Errors are those of the gradients."""
    expected = gradients(model, [[part] for part in documents()], alone)
    cells: dict[str, Any] = {"passed": {}, "why": refusal(lambda: check_isolation(model))}
    if not cells["why"]:
        cells["route"] = _route_of(model).name
        cells["error"] = relative_error(model, lambda batch: attention_inputs(batch, model), expected)
    for name, more in PASSED.items():

        def inputs(batch: PackedBatch, more: dict[str, Any] = more) -> dict[str, Any]:
            given = dict(more)
            if "attention_mask" in given:
                given["attention_mask"] = torch.ones_like(batch["input_ids"])
            return {"input_ids": batch["input_ids"], "position_ids": batch["position_ids"]} | given

        def forward(model: nn.Module, batch: PackedBatch) -> Any:
            return model(**inputs(batch))  # noqa: B023

        cells["passed"][name] = {
            "error": relative_error(model, inputs, expected),
            "refused": refusal(lambda: check_isolation(model, forward=forward)),  # noqa: B023
        }
    return cells


def cells() -> Iterator[dict[str, Any]]:
    for name, (config, sizes) in MODELS.items():
        for implementation in IMPLEMENTATIONS:
            cell = {"transformers": transformers.__version__, "model": name, "attention": implementation}
            made = getattr(transformers, config, None)
            if made is None:
                yield cell | {"why": f"transformers {transformers.__version__} has no {config}"}
                continue
            torch.manual_seed(0)
            try:
                model = AutoModelForCausalLM.from_config(
                    made(**SIZES, **sizes), attn_implementation=implementation
                )
            except (ValueError, ImportError) as error:
                yield cell | {"why": str(error).split(".")[0]}
                continue
            yield cell | cells_of(model.train())


def use_dense_flex_attention() -> None:
    """FlexAttention has no backward kernel for CPUs, and compiling takes minutes."""
    flex_attention._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    flex_attention._validate_device = lambda query, key, value: None
    torch.compile = lambda function=None, **_: function if function is not None else lambda one: one


if __name__ == "__main__":
    use_dense_flex_attention()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    json.dump(list(cells()), sys.stdout)
