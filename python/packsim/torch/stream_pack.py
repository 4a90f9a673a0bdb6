"""What a stream's collator gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from packsim._stream_setting import StreamSetting


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
