"""Ulysses: ranks hold parts of the sequence; for attention they hold parts of the heads instead."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from calibration.steps.training.architecture import Architecture


def kv_repeats(architecture: Architecture, sp: int) -> int:
    """How often each KV head is copied so that every rank gets one: 1 where there are enough."""
    return max(1, sp // architecture.kv_heads)


def why_not(architecture: Architecture, sp: int) -> str:
    """Why the model cannot run on sp ranks a sequence; empty where it can."""
    if architecture.heads % sp:
        return f"expected a divisor of the {architecture.heads} heads of {architecture.name}, got {sp}"
    kv_heads = architecture.kv_heads
    if kv_heads % sp and sp % kv_heads:
        return f"expected a divisor or a multiple of the {kv_heads} KV heads of {architecture.name}, got {sp}"
    return ""


def _exchange(x: Tensor, group: Any) -> Tensor:
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x, group=group)
    return out


def _heads_for_tokens(x: Tensor, sp: int, group: Any) -> Tensor:
    """[tokens / sp, heads, d] -> [tokens, heads / sp, d]"""
    tokens, heads, head_dim = x.shape
    parts = x.view(tokens, sp, heads // sp, head_dim).transpose(0, 1).contiguous()
    return _exchange(parts, group).view(tokens * sp, heads // sp, head_dim)


def _tokens_for_heads(x: Tensor, sp: int, group: Any) -> Tensor:
    """[tokens, heads / sp, d] -> [tokens / sp, heads, d]"""
    tokens, heads, head_dim = x.shape
    parts = _exchange(x.contiguous(), group).view(sp, tokens // sp, heads, head_dim)
    return parts.transpose(0, 1).reshape(tokens // sp, heads * sp, head_dim)


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gathers_tokens: bool, sp: int, group: Any) -> Tensor:
        ctx.gathers_tokens, ctx.sp, ctx.group = gathers_tokens, sp, group
        return (_heads_for_tokens if gathers_tokens else _tokens_for_heads)(x, sp, group)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        back = _tokens_for_heads if ctx.gathers_tokens else _heads_for_tokens
        return back(gradient.contiguous(), ctx.sp, ctx.group), None, None, None


class Ulysses:
    """Four all-to-alls an attention: q, k, v to it and its output from it. Nothing for sp = 1."""

    def __init__(self, sp: int, repeats: int, group: Any) -> None:
        self.sp = sp
        self._repeats = repeats
        self._group = group

    def gather_tokens(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.sp == 1:
            return q, k, v
        if self._repeats > 1:
            k, v = k.repeat_interleave(self._repeats, 1), v.repeat_interleave(self._repeats, 1)
        return tuple(_AllToAll.apply(x.contiguous(), True, self.sp, self._group) for x in (q, k, v))

    def scatter_tokens(self, out: Tensor) -> Tensor:
        return out if self.sp == 1 else _AllToAll.apply(out, False, self.sp, self._group)
