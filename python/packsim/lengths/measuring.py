"""The loop over the chunks of all parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from packsim._loss_spans import LossSpans
from packsim.lengths.bad_rows import BadRows
from packsim.lengths.chunk_cache import ChunkCache
from packsim.lengths.errors import MOST_SHOWN, LengthsError
from packsim.lengths.measured import Measured
from packsim.lengths.parts import Part
from packsim.lengths.result import CacheUse, Lengths
from packsim.lengths.workers import Workers

Progress = Callable[[int, "int | None"], None]


@dataclass(frozen=True)
class _PartEnd:
    """Every chunk of a part came before it."""

    part: Part
    cache: ChunkCache | None
    n_chunks: int


_Event = Measured | Future[Measured] | _PartEnd | Exception


@dataclass
class _Collected:
    """What has come so far, in the order of the data."""

    chunks: list[Measured] = field(default_factory=list)
    bad_rows: BadRows = field(default_factory=BadRows)
    n_samples: int = 0
    _first_good: Measured | None = None

    def add(self, measured: Measured) -> None:
        if not measured.bad_rows.count:
            self._check_labels(measured)
        self.chunks.append(measured)
        self.n_samples += len(measured.lengths_tokens)
        self.bad_rows.merge(measured.bad_rows)

    def _check_labels(self, measured: Measured) -> None:
        """All good chunks have labels, or none has."""
        first = self._first_good = self._first_good or measured
        if (first.loss_spans is None) != (measured.loss_spans is None):
            here, there = ("no labels", "labels") if first.loss_spans is None else ("labels", "none")
            self.bad_rows.add(measured.place, f"{here}, as at {first.place}", there)

    def raise_if_bad(self) -> None:
        if self.bad_rows.count:
            raise LengthsError(self.bad_rows.message(self.n_samples)) from self.bad_rows.cause


@dataclass(eq=False)
class Measuring:
    """One run over the parts of a source."""

    parts: list[Part]
    chunk_samples: int
    workers: Workers
    caches: list[ChunkCache] | None
    _n_cached: int = 0
    _n_measured: int = 0

    def run(self, source: str, progress: Progress | None) -> Lengths:
        totals = [part.n_samples for part in self.parts]
        total = None if None in totals else sum(n for n in totals if n is not None)
        collected = _Collected()
        for event in self._in_order():
            if isinstance(event, Measured):
                collected.add(event)
                if progress is not None:
                    progress(collected.n_samples, total)
                # Going on to the end could take hours, and the first ten mistakes tell.
                if collected.bad_rows.count >= MOST_SHOWN:
                    break
            elif isinstance(event, _PartEnd):
                if event.cache is not None and not collected.bad_rows.count:
                    event.cache.store_n_chunks(event.n_chunks)
            else:
                collected.raise_if_bad()
                raise event
        collected.raise_if_bad()
        return self._lengths(collected, source)

    def _lengths(self, collected: _Collected, source: str) -> Lengths:
        if collected.n_samples == 0:
            raise LengthsError(f"{source}: expected at least one sample, got none")
        spans = [chunk.loss_spans for chunk in collected.chunks if chunk.loss_spans is not None]
        use = CacheUse(
            self._n_cached, self._n_measured, sum(len(cache.corrupt) for cache in self.caches or [])
        )
        return Lengths(
            np.concatenate([chunk.lengths_tokens for chunk in collected.chunks]),
            LossSpans.joined(spans) if spans else None,
            source,
            use,
        )

    def _in_order(self) -> Iterator[Measured | _PartEnd | Exception]:
        """Events as in `_events`, their chunks measured."""
        pending: deque[_Event] = deque()
        n_at_work = 0
        for event in self._events():
            pending.append(event)
            n_at_work += isinstance(event, Future)
            while pending and (n_at_work >= self.workers.most_pending or not isinstance(pending[0], Future)):
                n_at_work -= isinstance(pending[0], Future)
                yield self._done(pending.popleft())
        while pending:
            yield self._done(pending.popleft())

    def _done(self, event: _Event) -> Measured | _PartEnd | Exception:
        return self.workers.result(event) if isinstance(event, Future) else event

    def _events(self) -> Iterator[_Event]:
        """Reads ahead. A mistake of reading comes in its place, after the chunks before it."""
        try:
            for number, part in enumerate(self.parts):
                yield from self._events_of(part, self.caches[number] if self.caches else None)
        except (LengthsError, OSError) as error:
            yield error

    def _events_of(self, part: Part, cache: ChunkCache | None) -> Iterator[_Event]:
        if cache is not None:
            cache.open()
            stored = self._all_stored(cache)
            if stored is not None:
                self._n_cached += len(stored)
                yield from stored
                return
        self.workers.start()
        from_cache: dict[int, Measured] = {}

        def is_wanted(index: int) -> bool:
            if cache is None or index in from_cache:
                return cache is None
            found = cache.load(index)
            if found is not None:
                from_cache[index] = found
            return found is None

        n_chunks = 0
        for index, rows in part.chunks(self.chunk_samples, is_wanted):
            n_chunks += 1
            if rows is None:
                self._n_cached += 1
                yield from_cache.pop(index)
            else:
                self._n_measured += 1
                yield self.workers.submit(rows, cache, index)
        yield _PartEnd(part, cache, n_chunks)

    @staticmethod
    def _all_stored(cache: ChunkCache) -> list[Measured] | None:
        """The chunks of a part that was measured to its end; None where one is missing."""
        n_chunks = cache.n_chunks()
        stored = [] if n_chunks is None else [cache.load(index) for index in range(n_chunks)]
        if n_chunks is None or None in stored:
            return None
        return [chunk for chunk in stored if chunk is not None]
