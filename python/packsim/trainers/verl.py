"""Rollouts of a batch in micro-batches, by verl's protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from packsim._arguments import Problems
from packsim._lengths_array import LengthsLike, as_lengths
from packsim._pack import pack

_MOST = 2**31 - 1


def micro_batch_indices(
    lengths_tokens: LengthsLike, max_tokens: int, n_micro_batches: int | None = None
) -> list[list[int]]:
    """Which rows of a batch are trained together: every row once, no micro-batch above `max_tokens`.

    Parameters
    ----------
    lengths_tokens : array_like of int, shape (n_rows,)
    max_tokens : int
    n_micro_batches : int, optional
        As many, none of them empty; by default as few as best-fit decreasing needs.

    Returns
    -------
    list of list of int
        Ascending inside a micro-batch; that with the most attention work first.

    Raises
    ------
    ValueError
        For rows that are too long, and for micro-batches fewer than needed or more than rows.
    """
    with Problems() as problems:
        limit = problems.integer("max_tokens", max_tokens, 1, _MOST)
        lengths = as_lengths(lengths_tokens)
        longest = int(lengths.max(initial=0))
        if longest > limit:
            problems.add(f"lengths_tokens: expected rows of at most {limit} tokens, got one of {longest}")
    packs = [samples.tolist() for samples in pack(lengths, strategy="bfd", capacity_tokens=limit).groups[0]]
    if n_micro_batches is not None:
        if not len(packs) <= n_micro_batches <= len(lengths):
            expected = f"{len(packs)}, which the tokens need, to {len(lengths)}, the rows"
            raise ValueError(f"n_micro_batches: expected {expected}, got {n_micro_batches}")
        while len(packs) < n_micro_batches:
            packs = _one_more(packs, lengths)
    squares = lengths.astype(np.int64) ** 2
    return sorted(map(sorted, packs), key=lambda rows: (-int(squares[rows].sum()), rows))


def rearrange_micro_batches(
    batch: Any,
    max_token_len: int,
    dp_group: Any = None,
    num_batches_divided_by: int | None = None,
    same_micro_num_in_dp: bool = True,
    min_num_micro_batch: int | None = None,
    use_dynamic_bsz_balance: bool = True,
    force_group_size: int = 1,
) -> tuple[list[Any], list[list[int]]]:
    """What verl.utils.seqlen_balancing has by this name, with packsim's packing.

    Parameters
    ----------
    batch : TensorDict
        Of this process, with `attention_mask` of shape (n_rows, n_tokens). `batch[indices]` gives its rows.
    max_token_len, dp_group, num_batches_divided_by, same_micro_num_in_dp, min_num_micro_batch
        As verl has them: the number of micro-batches is the same on all processes of `dp_group`, and a
        multiple.
    use_dynamic_bsz_balance
        Without effect: micro-batches are packed, the one with the most attention work first.
    force_group_size
        1: rows are packed one by one.

    Returns
    -------
    list of TensorDict, list of list of int
        The micro-batches, and the rows of each.

    Raises
    ------
    ValueError
        See `micro_batch_indices()`; and for groups of rows that must stay together.
    """
    del use_dynamic_bsz_balance
    if force_group_size != 1:
        raise ValueError(
            f"force_group_size: expected 1, as rows are packed one by one, got {force_group_size}"
        )
    mask = batch["attention_mask"]
    lengths = mask.sum(dim=-1).cpu().numpy().astype(np.int32)
    n_micro_batches = max(len(micro_batch_indices(lengths, max_token_len)), min_num_micro_batch or 1)
    if same_micro_num_in_dp and dp_group is not None and dist.is_initialized():
        most = torch.tensor([n_micro_batches], device=mask.device)
        dist.all_reduce(most, op=dist.ReduceOp.MAX, group=dp_group)
        n_micro_batches = int(most.item())
    multiple = num_batches_divided_by or 1
    n_micro_batches = -(-n_micro_batches // multiple) * multiple
    indices = micro_batch_indices(lengths, max_token_len, n_micro_batches)
    return [batch[torch.tensor(rows, device=mask.device)] for rows in indices], indices


def _one_more(packs: list[list[int]], lengths: Any) -> list[list[int]]:
    """The pack of most tokens that has two rows or more, in two halves."""
    chosen = max(
        (index for index, rows in enumerate(packs) if len(rows) > 1),
        key=lambda index: int(lengths[packs[index]].sum(dtype=np.int64)),
    )
    halves: tuple[list[int], list[int]] = ([], [])
    tokens = [0, 0]
    for row in sorted(packs[chosen], key=lambda row: (-int(lengths[row]), row)):
        lighter = int(tokens[1] < tokens[0])
        halves[lighter].append(row)
        tokens[lighter] += max(int(lengths[row]), 1)
    return [*packs[:chosen], *packs[chosen + 1 :], *halves]
