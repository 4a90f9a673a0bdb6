"""A stand-in for the package flash_attn, over the FlashAttention-2 kernels that PyTorch brings along.

transformers calls `flash_attention_2` by way of that package, which few machines have. With the stand-in,
all of transformers' own code runs as it does with the package: how it finds documents, and what it passes on.
What the kernels of the package itself do is not measured. On a CPU, plain scores and softmax take the place
of the kernels, so that scripts can be tried there.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

NAME = "flash_attention_2 of transformers over PyTorch's FlashAttention-2 kernels"
NAME_ON_A_CPU = "flash_attention_2 of transformers over plain scores and softmax"
VERSION = "2.8.3"  # which transformers takes it for

_WHOLE = (-1, -1)
_PACKAGE = """
from flash_attention import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache

__version__ = "{version}"
"""
_PADDING = """
from transformers.modeling_flash_attention_utils import _index_first_axis as index_first_axis
from transformers.modeling_flash_attention_utils import _pad_input as pad_input
from transformers.modeling_flash_attention_utils import _unpad_input as unpad_input
"""
calls: dict[str, int] = {}  # of each function, so that a result can say that it went through here


def install(folder: Path) -> None:
    """Write the package into the folder, which Python searches first from now on.

    Call it before transformers is imported, which looks for the package once.

    Raises
    ------
    RuntimeError
        Where transformers has looked for the package already.
    """
    if "transformers" in sys.modules:
        raise RuntimeError("transformers: expected to be imported after the stand-in for flash_attn")
    package, facts = folder / "flash_attn", folder / f"flash_attn-{VERSION}.dist-info"
    for made in (package, facts):
        made.mkdir(parents=True)
    (package / "__init__.py").write_text(_PACKAGE.format(version=VERSION))
    (package / "bert_padding.py").write_text(_PADDING)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: flash-attn\nVersion: {VERSION}\n")
    (facts / "top_level.txt").write_text("flash_attn\n")
    (facts / "RECORD").write_text("flash_attn/__init__.py,,\nflash_attn/bert_padding.py,,\n")
    sys.path[:0] = [str(folder), str(Path(__file__).parent)]


def allow_cpus() -> None:
    """transformers looks for CUDA before it takes flash_attn; only for trying a script without a GPU."""
    from transformers import modeling_flash_attention_utils as utils
    from transformers.utils import import_utils

    has_cuda = import_utils.is_torch_cuda_available
    import_utils.is_flash_attn_2_available.cache_clear()
    import_utils.is_torch_cuda_available = lambda: True
    try:
        import_utils.is_flash_attn_2_available()  # keeps its answer
    finally:
        import_utils.is_torch_cuda_available = has_cuda
    utils.FLASH_ATTENTION_COMPATIBILITY_MATRIX[2]["supported_devices"] = ((lambda: True, "cuda"),)


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int | Tensor,
    max_seqlen_k: int | Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = _WHOLE,
    softcap: float = 0.0,
    deterministic: bool = False,
) -> Tensor:
    """As in flash_attn: tokens of all documents one after another, shape (n_tokens, n_heads, head_dim)."""
    _count("flash_attn_varlen_func")
    if not causal or dropout_p or softcap:
        got = f"causal {causal}, dropout_p {dropout_p}, softcap {softcap}"
        raise NotImplementedError(f"PyTorch's FlashAttention-2: expected causal attention alone, got {got}")
    window_tokens = int(window_size[0]) + 1 if window_size[0] >= 0 else None
    if not q.is_cuda:
        return _plain(q, k, v, cu_seqlens_q, softmax_scale, window_tokens)
    from torch.nn.attention.varlen import varlen_attn

    parameters = inspect.signature(varlen_attn).parameters
    options: dict[str, Any] = {}
    # Versions of PyTorch differ in how they ask for causal attention, and not all have scales and windows.
    if "scale" in parameters:
        options["scale"] = softmax_scale
    elif softmax_scale is not None:
        q = q * (softmax_scale * q.shape[2] ** 0.5)
    if "window_size" in parameters:
        options["window_size"] = (-1 if window_tokens is None else window_tokens - 1, 0)
    elif window_tokens is None:
        options["is_causal"] = True
    else:
        raise NotImplementedError(f"PyTorch {torch.__version__}: varlen_attn has no sliding windows")
    if q.shape[1] != k.shape[1]:
        repeats = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    longest = int(max_seqlen_q), int(max_seqlen_k)
    starts = cu_seqlens_q.to(torch.int32), cu_seqlens_k.to(torch.int32)
    return varlen_attn(q.contiguous(), k.contiguous(), v.contiguous(), *starts, *longest, **options)


def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """As in flash_attn: shape (n_rows, n_tokens, n_heads, head_dim)."""
    _count("flash_attn_func")
    n_rows, n_tokens = q.shape[:2]
    if k.shape[1] != n_tokens:
        raise NotImplementedError(f"stand-in for flash_attn: expected {n_tokens} keys, got {k.shape[1]}")
    starts = torch.arange(0, (n_rows + 1) * n_tokens, n_tokens, dtype=torch.int32, device=q.device)
    flat = (values.reshape(-1, *values.shape[2:]) for values in (q, k, v))
    out = flash_attn_varlen_func(*flat, starts, starts, n_tokens, n_tokens, **options)
    return out.view(n_rows, n_tokens, *out.shape[1:])


def flash_attn_with_kvcache(*_: Any, **__: Any) -> Tensor:
    raise NotImplementedError("stand-in for flash_attn: it has no attention for generating text")


def _plain(
    q: Tensor, k: Tensor, v: Tensor, starts: Tensor, scale: float | None, window_tokens: int | None
) -> Tensor:
    repeats = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    token = torch.arange(q.shape[0], device=q.device)
    document = torch.bucketize(token, starts[1:-1].to(token.dtype), right=True)
    distance = token[:, None] - token[None, :]
    is_seen = (document[:, None] == document[None, :]) & (distance >= 0)
    if window_tokens is not None:
        is_seen &= distance < window_tokens
    scores = torch.einsum("qhd,khd->hqk", q, k).float() * (scale or q.shape[2] ** -0.5)
    weights = scores.masked_fill(~is_seen, float("-inf")).softmax(-1).to(v.dtype)
    return torch.einsum("hqk,khd->qhd", weights, v)


def _count(name: str) -> None:
    calls[name] = calls.get(name, 0) + 1
