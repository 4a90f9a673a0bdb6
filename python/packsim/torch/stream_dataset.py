"""Packs of data that are read as a stream, in the same order whatever the number of workers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from torch.utils.data import IterableDataset, get_worker_info

from packsim._arguments import Problems
from packsim._lengths_array import LengthsLike
from packsim._mixed_source import MixedSource, SourcedSample
from packsim._normalisers import Normaliser
from packsim._stream_packer import StreamPacker
from packsim.streaming import PackedStream
from packsim.torch.ranks import rank_and_size
from packsim.torch.stream_collator import StreamPack
from packsim.torch.stream_state import (
    Accumulation,
    ShardState,
    StreamPlace,
    merge_stream_states,
    place_of,
    to_dict,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from packsim._stream_setting import StreamArguments, StreamSetting

__all__ = ["Delivery", "SourceCounts", "StreamDataset", "StreamPack", "merge_stream_states"]

_MOST_SHARDS = 1 << 20
_SPLITS = "a multiple of ranks x workers deals the same packs to any of them"


class Delivery(NamedTuple):
    """What a worker sends: a batch, and what resuming behind it needs."""

    shard_index: int
    has_ended: bool  # the shard has no more packs; there is no batch
    window: str  # as in ShardState; empty where it is that of the shard's pack before
    n_taken: int
    batch: Any
    sources: str = ""  # as in ShardState, of this pack, as JSON; empty where the stream is not mixed


@dataclass(frozen=True)
class SourceCounts:
    """What the training loop has had of a source of a MixedSource.

    Attributes
    ----------
    n_samples, n_tokens
        As they are packed: over-long samples count with the tokens that are left of them.
    n_repeated_samples
        Of these, samples of a second pass of the source or a later one.
    """

    n_samples: int
    n_tokens: int
    n_repeated_samples: int


class StreamDataset(IterableDataset[Delivery]):
    """The packs of a stream in shards; `StreamLoader` iterates it.

    Every shard is a stream of its own, packed on its own. Rank r of n has shards r, r + n, r + 2n, ... and
    takes a pack of each in turn, over and over; a shard that has ended is passed over. Workers share the
    shards of a rank so that their packs arrive in that order: it depends on the data, on these arguments and
    on the number of ranks, never on the number of workers.

    Parameters
    ----------
    open_shard : callable
        `open_shard(shard_index, n_shards, start_sample)` gives the samples of a shard from one on. Where it
        has a method `set_epoch(epoch)`, that is called first. `packsim.stream_sources` has some.
    n_shards : int
        A multiple of ranks times workers. A worker holds up to `window_samples` samples of each of its
        shards.
    length_of : callable
        The length of a sample in tokens.
    collator : callable, optional
        From a StreamPack to what the training loop gets: `StreamCollator`, or one of your own. Called in the
        worker, and with a StreamPack of no samples for the empty micro-batches at the end of an epoch. By
        default the StreamPack itself.
    rank, world_size : int, optional
        As for PlanSampler.
    **arguments
        Those of `packsim.StreamPacker`.

    Raises
    ------
    ValueError
        For arguments that are wrong, and where the shards cannot be dealt evenly.
    """

    def __init__(
        self,
        open_shard: Callable[[int, int, int], Iterable[Any]],
        *,
        n_shards: int,
        length_of: Callable[[Any], int] = len,
        collator: Callable[[StreamPack], Any] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        **arguments: Unpack[StreamArguments],
    ) -> None:
        self._open_shard = open_shard
        self._mix = open_shard if isinstance(open_shard, MixedSource) else None
        self.is_mixed = self._mix is not None
        self._length_of = length_of
        self._collator = collator
        # What decides loss weights; None where the collator has none.
        self.normaliser: Normaliser | None = getattr(collator, "normaliser", None)
        self._arguments = arguments
        self._setting = StreamPacker(**arguments).setting
        self.rank, self.world_size = rank_and_size(rank, world_size)
        with Problems() as problems:
            self.n_shards = problems.integer("n_shards", n_shards, 1, _MOST_SHARDS)
        if self.n_shards % self.world_size != 0:
            expected = f"expected a multiple of {self.world_size} ranks ({_SPLITS})"
            raise ValueError(f"n_shards: {expected}, got {self.n_shards}")
        self._place = StreamPlace.start_of(0, self.rank, self.world_size, self.n_shards)
        self._knows_all_shards = True  # what has been delivered of them
        self.newest_iterator = 0  # of its loaders: the number of the only one that may give batches
        self._example: Any = None  # a sample, once an empty batch has been asked for

    @property
    def epoch(self) -> int:
        """The epoch that the next batch is of."""
        return self._place.epoch

    @property
    def step(self) -> int:
        """How many micro-batches of this epoch the training loop has had."""
        return self._place.step

    def begin_iterator(self) -> int:
        """A number for a new iterator: those of before, of any loader, cannot go on. For StreamLoader."""
        self.newest_iterator += 1
        return self.newest_iterator

    @property
    def accumulation(self) -> Accumulation | None:
        """The optimizer step that the loop is inside of; None between steps."""
        return self._place.accumulation

    def check_workers(self, num_workers: int) -> None:
        """ValueError unless so many workers can share the shards of this rank evenly."""
        if self.n_shards % (self.world_size * max(num_workers, 1)) != 0:
            expected = f"a multiple of {self.world_size} ranks x {num_workers} workers ({_SPLITS})"
            raise ValueError(f"n_shards: expected {expected}, got {self.n_shards}")

    def empty_batch(self) -> Any:
        """A micro-batch of no samples, for a rank that has nothing to train in a step of all ranks."""
        if self._example is None and self._collator is not None:
            self._example = self._first_sample()
        return self._collated(StreamPack(-1, [], [], [], self._setting, example=self._example))

    def _first_sample(self) -> Any:
        """Any sample, of the first shard that has one; None where all are empty."""
        for shard_index in range(self.n_shards):
            for sample in islice(self._open_shard(shard_index, self.n_shards, 0), 1):
                return sample.sample if isinstance(sample, SourcedSample) else sample
        return None

    def source_counts(self) -> dict[str, SourceCounts]:
        """Counts what this rank has had in this epoch of each source of a MixedSource; empty for other
        streams."""
        if self._mix is None:
            return {}
        own = [shard for index, shard in self._place.shards.items() if index in self._place.turns]
        return {
            name: SourceCounts(
                *(sum(shard.sources.get(name, (0, 0, 0))[i] for shard in own) for i in range(3))
            )
            for name in self._mix.sources
        }

    def stream_hash(self) -> int:
        """Hashes what must be the same on all ranks: how the stream is packed, and its mix. For
        StreamLoader."""
        mix = None if self._mix is None else self._mix.state_dict() | {"requested": None}
        return _hash_of([self._setting.to_dict(), self.n_shards, mix])

    def requested_hash(self) -> int:
        """Hashes the weights that `MixedSource.set_weights()` asked for; 0 for none. For StreamLoader."""
        requested = None if self._mix is None else self._mix.requested
        return 0 if requested is None else _hash_of(requested)

    def take_weight_change(self) -> bool:
        """Whether `MixedSource.set_weights()` was called; then they are in effect. For StreamLoader.

        Inside an optimizer step nothing changes: its loss weights are those of the packs that follow.
        """
        if self._mix is None or self.accumulation is not None:
            return False
        weights = self._mix.take_requested(self.epoch, self.step)
        if weights is None:
            return False
        shards = {index: shard.with_weights(weights) for index, shard in self._place.shards.items()}
        self._place = replace(self._place, shards=shards)
        return True

    def count_steps(self, lengths_by_shard: Sequence[LengthsLike]) -> int:
        """How many steps the epoch has, where the lengths of all shards are known beforehand: exactly.

        In the middle of an epoch, the state that was loaded must be one of all ranks, merged, where there are
        several.
        """
        if len(lengths_by_shard) != self.n_shards:
            expected = f"the lengths of {self.n_shards} shards"
            raise ValueError(f"lengths_by_shard: expected {expected}, got {len(lengths_by_shard)}")
        left = [self._count_packs(lengths) for lengths in lengths_by_shard]
        if not self._knows_all_shards:
            raise ValueError("count_steps: expected a merged state of all ranks, got one of this rank alone")
        for shard_index, shard in self._place.shards.items():
            left[shard_index] -= shard.n_packs
        return self.step + max(sum(left[rank :: self.world_size]) for rank in range(self.world_size))

    def state_dict(self) -> dict[str, Any]:
        """What the training loop has had, as JSON has it; packs that workers fetched ahead are not counted.

        Samples that a packer holds are in it by their places and lengths; loading it reads them again.
        """
        state: dict[str, Any] = to_dict(self._place, self._setting, self.rank, self.world_size, self.n_shards)
        if self._mix is not None:
            state["source"] = self._mix.state_dict()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on behind what had been delivered, with any number of workers.

        With any number of ranks where `StreamLoader.gathered_state_dict()` or `merge_stream_states()` has
        made one state of those of all ranks, between optimizer steps.

        Raises
        ------
        ValueError
            For what is no state, or one of another stream; then nothing has changed.
        """
        place = place_of(state, self._setting, self.rank, self.world_size, self.n_shards)
        if self._mix is not None:
            self._mix.load_state_dict(state.get("source"))
        self._place = place
        self._knows_all_shards = len(state["turns"]) == self.n_shards
        self.begin_iterator()  # those that have begun are at another place

    def delivered(self, delivery: Delivery | None, accumulation: Accumulation | None = None) -> None:
        """The loop has had that batch; None: an empty one. For StreamLoader.

        accumulation: the optimizer step that it leaves the loop inside of.
        """
        self._knows_all_shards = self.world_size == 1
        if delivery is None:
            self._place = self._place.after_empty(accumulation)
            return
        before = self._place.shards.get(delivery.shard_index)
        sources = dict(before.sources) if before else {}
        for name, counts in json.loads(delivery.sources or "{}").items():
            sources[name] = [a + b for a, b in zip(counts, sources.get(name, (0, 0, 0)), strict=True)]
        shard = ShardState(
            window=delivery.window or (before.window if before else ""),
            n_taken=delivery.n_taken,
            n_packs=1 + (before.n_packs if before else 0),
            sources=sources,
        )
        self._place = self._place.after(delivery.shard_index, shard, accumulation)

    def end_epoch(self) -> None:
        """All ranks have had all packs of the epoch. For StreamLoader."""
        self._knows_all_shards = True
        self._place = StreamPlace.start_of(self.epoch + 1, self.rank, self.world_size, self.n_shards)

    def __iter__(self) -> Iterator[Delivery]:
        """What comes next, of the shards of this worker; where one has ended, a delivery that says so."""
        info = get_worker_info()
        worker, n_workers = (info.id, info.num_workers) if info is not None else (0, 1)
        self.check_workers(n_workers)
        if hasattr(self._open_shard, "set_epoch"):
            self._open_shard.set_epoch(self._place.epoch)
        shards = [self._packs_of(shard) for shard in self._place.turns[worker::n_workers]]
        while not all(shard.has_ended for shard in shards):
            for shard in shards:
                yield shard.deliver()

    def _packs_of(self, shard_index: int) -> _ShardPacks:
        shard = self._place.shards.get(shard_index)
        packs = PackedStream(
            lambda start_sample: self._open_shard(shard_index, self.n_shards, start_sample),
            StreamPacker(**self._arguments),
            length_of=self._length,
            open_from=self._open_from(shard_index),
            state=None if shard is None else {"window": json.loads(shard.window), "n_taken": shard.n_taken},
            name=f"shard {shard_index}",
        )
        return _ShardPacks(shard_index, packs, self._setting, self._collated)

    def _open_from(self, shard_index: int) -> Callable[[Any], Iterator[Any]] | None:
        mix = self._mix
        return None if mix is None else lambda state: mix.shard_from(shard_index, self.n_shards, state)

    def _length(self, sample: Any) -> int:
        return self._length_of(sample.sample if isinstance(sample, SourcedSample) else sample)

    def _collated(self, pack: StreamPack) -> Any:
        return pack if self._collator is None else self._collator(pack)

    def _count_packs(self, lengths_tokens: LengthsLike) -> int:
        packer = StreamPacker(**self._arguments)
        packer.push(lengths_tokens)
        packer.finish()
        return packer.counts.n_packs


def _hash_of(value: Any) -> int:
    """63 bits of what JSON has."""
    text = json.dumps(value, sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


@dataclass(eq=False)
class _ShardPacks:
    """The packs of one shard, as deliveries."""

    shard_index: int
    packs: PackedStream[Any]
    setting: StreamSetting
    collate: Callable[[StreamPack], Any]
    has_ended: bool = False
    _sent_window: Mapping[str, Any] | None = None

    def deliver(self) -> Delivery:
        pack = None if self.has_ended else next(self.packs, None)
        if pack is None:
            self.has_ended = True
            return Delivery(self.shard_index, True, "", 0, None)
        sample_indices = [sample_index for sample_index, _ in pack]
        samples = [sample for _, sample in pack]
        lengths_tokens = self.packs.lengths_tokens
        counts = self._source_counts(samples, lengths_tokens)
        sources = [sample.source for sample in samples] if counts else []
        samples = [sample.sample for sample in samples] if counts else samples
        batch = self.collate(
            StreamPack(self.shard_index, sample_indices, samples, lengths_tokens, self.setting, sources)
        )
        state = self.packs.state_dict()
        # Text is left alone by pinning and pickling; it is sent once a window.
        window = "" if state["window"] is self._sent_window else json.dumps(state["window"])
        self._sent_window = state["window"]
        counted = json.dumps(counts) if counts else ""
        return Delivery(self.shard_index, False, window, state["n_taken"], batch, counted)

    def _source_counts(self, samples: Sequence[Any], lengths_tokens: Sequence[int]) -> dict[str, list[int]]:
        """Returns counts as ShardState has them; empty if the stream is not mixed."""
        counts: dict[str, list[int]] = {}
        for sample, length_tokens in zip(samples, lengths_tokens, strict=True):
            if isinstance(sample, SourcedSample):
                n_tokens = min(length_tokens, self.setting.capacity_tokens)
                of_source = counts.setdefault(sample.source, [0, 0, 0])
                for i, number in enumerate((1, n_tokens, int(sample.pass_index > 0))):
                    of_source[i] += number
        return counts
