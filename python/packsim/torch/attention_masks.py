"""Masks that keep the documents of a packed row apart, for attention that does not do so by positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_MOST_MASK_BYTES = 8 << 30  # a row of 65 536 tokens in bf16


def document_mask(cu_seqlens: Tensor, window_tokens: int | None = None) -> Tensor:
    """Which tokens a token attends to: those of its own document up to itself.

    Parameters
    ----------
    cu_seqlens : Tensor of int, shape (n_documents + 1,)
        Where documents begin and end, as in a PackedBatch.
    window_tokens : int, optional
        The most tokens, itself included, that a token attends to: the window of a sliding-window layer.

    Returns
    -------
    Tensor of bool, shape (1, 1, n_tokens, n_tokens)
        [0, 0, i, j]: token i attends to token j.
    """
    document = _document_of_tokens(cu_seqlens)
    token = torch.arange(len(document), device=cu_seqlens.device)
    distance = token[:, None] - token[None, :]
    mask = (document[:, None] == document[None, :]) & (distance >= 0)
    if window_tokens is not None:
        mask &= distance < window_tokens
    return mask[None, None]


def additive_document_mask(
    cu_seqlens: Tensor, dtype: torch.dtype, window_tokens: int | None = None
) -> Tensor:
    """The same as what is added to attention scores: 0, or the least number of the dtype.

    Raises
    ------
    ValueError
        Where the mask would be larger than 8 GiB: it has n_tokens squared numbers.
    """
    n_tokens = int(cu_seqlens[-1])
    n_bytes = n_tokens**2 * dtype.itemsize
    if n_bytes > _MOST_MASK_BYTES:
        raise ValueError(
            f"attention mask: expected at most {_MOST_MASK_BYTES >> 30} GiB, got {n_bytes / 2**30:.0f} GiB "
            f"for a row of {n_tokens} tokens; use an attention implementation that needs none, such as "
            "flash_attention_2 or flex_attention"
        )
    mask = document_mask(cu_seqlens, window_tokens)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(
        ~mask, torch.finfo(dtype).min
    )


def document_block_mask(cu_seqlens: Tensor, window_tokens: int | None = None) -> Any:
    """The same as a `BlockMask` of PyTorch's FlexAttention, which needs no memory for pairs of tokens."""
    from torch.nn.attention.flex_attention import create_block_mask

    document = _document_of_tokens(cu_seqlens)

    def attends(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        mask = (document[query] == document[key]) & (query >= key)
        return mask if window_tokens is None else mask & (query - key < window_tokens)

    n_tokens = len(document)
    return create_block_mask(attends, None, None, n_tokens, n_tokens, device=str(cu_seqlens.device))


def _document_of_tokens(cu_seqlens: Tensor) -> Tensor:
    n_tokens_of_documents = cu_seqlens.diff().long()
    documents = torch.arange(len(n_tokens_of_documents), device=cu_seqlens.device)
    return documents.repeat_interleave(n_tokens_of_documents)
