"""Packed causal attention: a table of implementations, and the choice of the first that works here.

Every implementation takes q [tokens, heads, head_dim], k and v [tokens, kv_heads, head_dim] and the pack's
DocumentLayout, and lets no document see another.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as functional
from torch import Tensor

from calibration.steps.documents import Documents


@dataclass(frozen=True)
class DocumentLayout:
    """Where the documents of a pack begin and end, as kernels want it."""

    documents: Documents
    cumulative_tokens: Tensor  # int32 [n_documents + 1], on the device

    @staticmethod
    def of(documents: Documents, device: torch.device) -> DocumentLayout:
        lengths = torch.tensor([0, *documents.lengths_tokens], dtype=torch.int64)
        return DocumentLayout(documents, lengths.cumsum(0).to(device, torch.int32))


Attention = Callable[[Tensor, Tensor, Tensor, DocumentLayout], Tensor]


def _flash_attention(module: str, q: Tensor, k: Tensor, v: Tensor, layout: DocumentLayout) -> Tensor:
    function = importlib.import_module(module).flash_attn_varlen_func
    longest = layout.documents.longest_tokens
    starts = layout.cumulative_tokens
    out = function(q, k, v, starts, starts, max_seqlen_q=longest, max_seqlen_k=longest, causal=True)
    return out[0] if isinstance(out, tuple) else out


def _torch_varlen(q: Tensor, k: Tensor, v: Tensor, layout: DocumentLayout) -> Tensor:
    function = importlib.import_module("torch.nn.attention.varlen").varlen_attn
    # Versions of PyTorch differ in how they ask for causal attention and for fewer KV heads than heads.
    names = _parameter_names(function)
    causal = {"is_causal": True} if "is_causal" in names else {"window_size": (-1, 0)}
    grouped = {"enable_gqa": True} if "enable_gqa" in names else {}
    longest, starts = layout.documents.longest_tokens, layout.cumulative_tokens
    return function(q, k, v, starts, starts, longest, longest, **causal, **grouped)


def _torch_varlen_repeated_kv(q: Tensor, k: Tensor, v: Tensor, layout: DocumentLayout) -> Tensor:
    repeats = q.shape[1] // k.shape[1]
    return _torch_varlen(q, k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1), layout)


def _parameter_names(function: Callable[..., Tensor]) -> frozenset[str]:
    if function not in _PARAMETER_NAMES:
        _PARAMETER_NAMES[function] = frozenset(inspect.signature(function).parameters)
    return _PARAMETER_NAMES[function]


_PARAMETER_NAMES: dict[Callable[..., Tensor], frozenset[str]] = {}


def _sdpa_documents(q: Tensor, k: Tensor, v: Tensor, layout: DocumentLayout) -> Tensor:
    # A run of documents of one length is a batch of one call.
    outs = []
    start = 0
    for n_documents, length in layout.documents.runs:
        end = start + n_documents * length
        q_run, k_run, v_run = (
            x[start:end].view(n_documents, length, x.shape[1], x.shape[2]).transpose(1, 2) for x in (q, k, v)
        )
        grouped = q.shape[1] != k.shape[1]
        out = functional.scaled_dot_product_attention(q_run, k_run, v_run, is_causal=True, enable_gqa=grouped)
        outs.append(out.transpose(1, 2).reshape(end - start, q.shape[1], q.shape[2]))
        start = end
    return torch.cat(outs) if len(outs) > 1 else outs[0]


def reference(q: Tensor, k: Tensor, v: Tensor, layout: DocumentLayout) -> Tensor:
    """Plain scores and softmax under the mask of the whole pack: what the others are held to."""
    repeats = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    position = torch.arange(q.shape[0], device=q.device)
    document = torch.bucketize(position, layout.cumulative_tokens[1:-1], right=True)
    is_seen = (document[:, None] == document[None, :]) & (position[:, None] >= position[None, :])
    scores = torch.einsum("qhd,khd->hqk", q, k).float() / q.shape[2] ** 0.5
    weights = scores.masked_fill(~is_seen, float("-inf")).softmax(-1).to(v.dtype)
    return torch.einsum("hqk,khd->qhd", weights, v)


# The fastest on GPUs is preferred and stands first. The reference stands last, where nothing else works.
IMPLEMENTATIONS: dict[str, Attention] = {
    "flash_attn_3": partial(_flash_attention, "flash_attn_interface"),
    "flash_attn_2": partial(_flash_attention, "flash_attn"),
    "torch_varlen": _torch_varlen,
    "torch_varlen_repeated_kv": _torch_varlen_repeated_kv,
    "sdpa_documents": _sdpa_documents,
    "reference": reference,
}


def _why_not(name: str, device: torch.device, dtype: torch.dtype) -> str:
    """Why an implementation does not work here, by a small forward and backward pass; empty where it does."""
    generator = torch.Generator().manual_seed(0)
    layout = DocumentLayout.of(Documents.parse("2x24+1x80"), device)

    def draw(heads: int) -> Tensor:
        values = torch.randn(128, heads, 64, generator=generator)
        return values.to(device, dtype).requires_grad_()

    inputs = [draw(4), draw(2), draw(2)]
    try:
        out = IMPLEMENTATIONS[name](*inputs, layout)
        gradients = torch.autograd.grad(out.float().square().sum(), inputs)
    except Exception as error:  # Missing packages, symbols and architectures raise all kinds.
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    expected = reference(*inputs, layout)
    expected_gradients = torch.autograd.grad(expected.float().square().sum(), inputs)
    tolerance = 1e-3 if dtype == torch.float32 else 5e-2
    for got, wanted in zip([out, *gradients], [expected, *expected_gradients]):
        if (got.float() - wanted.float()).abs().max() > tolerance * wanted.float().abs().max():
            return "other values than the reference"
    return ""


def choose_attention(wanted: str, device: torch.device, dtype: torch.dtype) -> tuple[str, dict[str, str]]:
    """The first that works, or `wanted` unless "auto"; and why each other one before it does not.

    The name is empty where none is left.
    """
    reasons: dict[str, str] = {}
    for name in IMPLEMENTATIONS if wanted == "auto" else [wanted]:
        reasons[name] = _why_not(name, device, dtype)
        if not reasons[name]:
            del reasons[name]
            return name, reasons
    return "", reasons
