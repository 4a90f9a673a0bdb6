"""Badly filled packs of all shards, packed again together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packsim.sharded.arguments import ShardArguments
from packsim.sharded.pieces import PackArrays


def leftover_packs(
    pack_tokens: NDArray[np.int64], pack_pieces: NDArray[np.int64], arguments: ShardArguments
) -> NDArray[np.int64]:
    """The packs that the join packs again, best filled first: the worst, with samples up to the limit."""
    if arguments.row.cuts_samples:  # it fills all packs but the last
        return np.zeros(0, dtype=np.int64)
    below = np.flatnonzero(pack_tokens < arguments.leftover_below_fraction * arguments.capacity_tokens)
    worst_first = below[np.argsort(pack_tokens[below], kind="stable")]
    n_packs = np.searchsorted(np.cumsum(pack_pieces[worst_first]), arguments.leftover_samples, side="right")
    return worst_first[:n_packs][::-1]


def packed_again(leftovers: list[PackArrays], arguments: ShardArguments) -> PackArrays | None:
    """The samples of these packs, packed together; None where that needs no fewer packs."""
    if sum(packs.n_packs for packs in leftovers) < 2:
        return None
    whole = _one_after_another(leftovers)
    packing = arguments.pack(np.ascontiguousarray(whole.tokens, dtype=np.int32), over_long="error")
    group = packing.groups[0]
    if len(group) >= sum(packs.n_packs for packs in leftovers):
        return None
    return whole.pick(group.samples, group.offsets.astype(np.int64))


def _one_after_another(packs: list[PackArrays]) -> PackArrays:
    starts = [
        np.zeros(len(one.samples), np.int32) if one.starts_tokens is None else one.starts_tokens
        for one in packs
    ]
    losses = [one.piece_loss_tokens() for one in packs]
    return PackArrays(
        offsets=np.zeros(1, dtype=np.int64),
        samples=np.concatenate([one.samples for one in packs]),
        tokens=np.concatenate([one.tokens.astype(np.int32) for one in packs]),
        # A shard without cut samples has no starts.
        starts_tokens=np.concatenate(starts) if any(one.starts_tokens is not None for one in packs) else None,
        loss_tokens=np.concatenate(losses) if any(one.loss_tokens is not None for one in packs) else None,
    )
