"""The tensors of a stream's pack are made from its samples here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from packsim._arguments import Problems
from packsim._micro_batch import MicroBatch
from packsim._normalisers import find_normaliser
from packsim._plan import PlanGroup
from packsim._stream_setting import StreamSetting
from packsim.torch.collator import MOST_MISTAKES, CollatorRules, PackCollator
from packsim.torch.dataset import FetchedPack
from packsim.torch.packed_batch import PackedBatch

_PADDING = ("none", "capacity", "multiple")


class StreamPack(NamedTuple):
    """What a collator gets: the samples of one micro-batch.

    Attributes
    ----------
    shard_index : int
        -1 for a micro-batch without samples.
    sample_indices : list of int
        Where each sample was in its shard.
    samples : list
        As the shard gave them. One that is over-long under `over_long="truncate"` counts as
        `capacity_tokens`: the collator cuts it.
    lengths_tokens : list of int
        What `length_of` said of each sample, not cut.
    setting : StreamSetting
        How the stream is packed; `capacity_tokens` and `over_long` among it.
    sources : sequence of str
        The source of each sample, where the stream is a `MixedSource`; else empty.
    example
        For a micro-batch without samples any sample of the stream, whose columns say what its batch has;
        None where the stream has none.
    """

    shard_index: int
    sample_indices: list[int]
    samples: list[Any]
    lengths_tokens: list[int]
    setting: StreamSetting
    sources: Sequence[str] = ()
    example: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamMicroBatch(MicroBatch):
    """The micro-batch of a stream.

    `samples` are positions in the shard, `iteration` counts the optimizer steps of this iteration over the
    loader, `round` the micro-batches of the step, and `first_gpu` is the rank.

    Attributes
    ----------
    shard_index : int
        -1 for a micro-batch without samples.
    truncated_tokens : int
        Cut off over-long samples.
    sources : tuple of str
        The source of each sample, where the stream is a `MixedSource`; else empty.
    """

    shard_index: int = -1
    truncated_tokens: int = 0
    sources: tuple[str, ...] = ()


class StreamCollator:
    """Makes the batch of a pack: the `collator` of a StreamDataset.

    Batches are those of PackCollator, of layout "packed". Over-long samples under `over_long="truncate"` are
    cut here. StreamLoader sets `loss_weights` to those of the step, over all ranks, and `is_last`.

    Parameters
    ----------
    padding : {"none", "capacity", "multiple"}
        Rows become as long as a pack may be, or a multiple of `pad_multiple_tokens`.
    pad_multiple_tokens : int
    normaliser : str
        A name of `packsim.normalisers()`: what the loss of a token is multiplied by.
    **options
        Those of PackCollator: `pad_token_id`, `columns` and others.
    """

    def __init__(
        self,
        *,
        padding: str = "none",
        pad_multiple_tokens: int = 1,
        normaliser: str = "stable",
        **options: Any,
    ) -> None:
        problems = Problems()
        padding = problems.word("padding", padding, _PADDING)
        multiple = problems.integer("pad_multiple_tokens", pad_multiple_tokens, 1, 2**31 - 1)
        if "check_loss_tokens" in options:
            problems.add("check_loss_tokens: expected none, as a stream's loss tokens are counted, got one")
        problems.raise_if_any()
        self.normaliser = find_normaliser(normaliser)
        rules = CollatorRules(padding=padding, pad_multiple_tokens=multiple)
        self._collator = PackCollator(rules, check_loss_tokens=False, **options)

    def __call__(self, pack: StreamPack) -> PackedBatch:
        """The batch.

        Raises
        ------
        ValueError
            For samples that are no token ids, whose `input_ids` are more or fewer than `length_of` said, or
            that have columns without a rule.
        """
        micro_batch = self._micro_batch(pack)
        truncates = pack.setting.over_long == "truncate"
        longest_tokens = pack.setting.capacity_tokens if truncates else 0
        self._collator.rules = replace(self._collator.rules, truncates_tokens=longest_tokens)
        try:
            batch = self._collator(FetchedPack(pack.samples, micro_batch, pack.example))
        except ValueError as error:
            raise ValueError(f"shard {pack.shard_index}: {error}") from None
        ends = np.cumsum(micro_batch.tokens, dtype=np.int64)
        with_loss = batch["loss_weights"][0].numpy() > 0
        counts = np.diff(np.concatenate([[0], np.cumsum(with_loss)])[np.concatenate([[0], ends])])
        batch.micro_batch = replace(micro_batch, loss_tokens=counts.astype(np.int32))
        return batch

    def _micro_batch(self, pack: StreamPack) -> StreamMicroBatch:
        """Makes a micro-batch of weight 1, with loss tokens that are not known yet."""
        capacity_tokens = pack.setting.capacity_tokens
        _check_lengths(pack)
        lengths = np.array(pack.lengths_tokens, dtype=np.int64)
        tokens = np.minimum(lengths, capacity_tokens).astype(np.int32)
        return StreamMicroBatch(
            group=PlanGroup(capacity_tokens),
            samples=np.array(pack.sample_indices, dtype=np.uint64),
            starts_tokens=np.zeros(len(tokens), dtype=np.int32),
            tokens=tokens,
            loss_tokens=np.zeros(len(tokens), dtype=np.int32),
            weight=1.0,
            shard_index=pack.shard_index,
            truncated_tokens=int((lengths - tokens).sum()),
            sources=tuple(pack.sources),
        )


def with_weight(
    batch: PackedBatch, weight: float, per_sample: bool, iteration: int, round: int, rank: int, is_last: bool
) -> PackedBatch:
    """The batch in its step. per_sample: the weight is divided by the loss tokens of each token's sample."""
    micro_batch = batch.micro_batch
    assert isinstance(micro_batch, StreamMicroBatch)
    micro_batch = replace(
        micro_batch,
        weight=weight,
        weight_per_sample=per_sample,
        iteration=iteration,
        round=round,
        first_gpu=rank,
    )
    weights = np.repeat(micro_batch.token_weights(), micro_batch.tokens).astype(np.float32)
    # The row changes in place, as a worker may have pinned or shared it.
    row = batch["loss_weights"][0, : len(weights)]
    row.copy_(torch.where(row > 0, torch.from_numpy(weights), torch.zeros(())))
    batch.micro_batch = micro_batch
    batch.is_last = is_last
    return batch


def _check_lengths(pack: StreamPack) -> None:
    """ValueError where the packer was told other lengths: packs would be badly filled, or samples cut."""
    mistakes = []
    for index, sample, told in zip(pack.sample_indices, pack.samples, pack.lengths_tokens, strict=True):
        found = _n_ids(sample)
        if found is not None and found != told:
            place = f"shard {pack.shard_index}: sample {index}"
            mistakes.append(f"{place}: expected {told} tokens, as length_of() said, got {found}")
    with Problems() as problems:
        problems.add_first(mistakes, MOST_MISTAKES)


def _n_ids(sample: Any) -> int | None:
    """None for what are no token ids: PackCollator refuses it."""
    ids = sample.get("input_ids") if hasattr(sample, "get") else sample
    try:
        return len(ids)
    except TypeError:
        return None
