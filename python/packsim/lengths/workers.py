"""Measures chunks here or in worker processes; results come in the order in which chunks were given."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection

from packsim.lengths.chunk_cache import ChunkCache
from packsim.lengths.errors import LengthsError
from packsim.lengths.measured import Measured
from packsim.lengths.measurers import Measurer
from packsim.lengths.rows import Rows

_PARALLELISM = "TOKENIZERS_PARALLELISM"
_measurer: Measurer | None = None


def measure_chunk(measurer: Measurer, rows: Rows, cache: ChunkCache | None, index: int) -> Measured:
    """A chunk without bad rows is stored at once."""
    measured = measurer.measure(rows)
    if cache is not None and measured.bad_rows.count == 0:
        cache.store(index, measured)
    return measured


class Workers:
    """Processes that start at the first chunk; none for `processes` 1."""

    def __init__(self, measurer: Measurer, processes: int) -> None:
        self._measurer = measurer
        self._processes = processes
        self._executor: ProcessPoolExecutor | None = None
        # Chunks at work or waiting: what bounds the memory.
        self.most_pending = 1 if processes == 1 else 2 * processes

    def start(self) -> None:
        """Starts before any data are read: a forked process must not inherit the threads of a reader at work.

        Raises
        ------
        LengthsError
            Where processes do not start by forking and the tokenizer cannot be pickled.
        """
        if self._processes == 1 or self._executor is not None:
            return
        context = multiprocessing.get_context()
        if context.get_start_method() != "fork":
            try:
                pickle.dumps(self._measurer)
            except Exception as error:
                expected = "a tokenizer that can be pickled, or processes=1"
                raise LengthsError(f"tokenize: expected {expected}, got {error}") from error
        self._executor = ProcessPoolExecutor(
            self._processes, context, initializer=_set_up, initargs=(self._measurer,)
        )
        with _workers_break():
            self._executor.submit(os.getpid).result()

    def submit(self, rows: Rows, cache: ChunkCache | None, index: int) -> Future[Measured]:
        if self._executor is not None:
            with _workers_break():
                return self._executor.submit(_measure_in_worker, rows, cache, index)
        future: Future[Measured] = Future()
        future.set_result(measure_chunk(self._measurer, rows, cache, index))
        return future

    @staticmethod
    def result(future: Future[Measured]) -> Measured:
        with _workers_break():
            return future.result()

    def stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


@contextmanager
def serial_tokenizers(processes: int) -> Iterator[None]:
    """Every worker tokenizes in one thread: the processes are the parallelism.

    Set here, as the tokenizers library looks at it when a process is forked. A value of the user stays.
    """
    if processes == 1 or _PARALLELISM in os.environ:
        yield
        return
    os.environ[_PARALLELISM] = "false"
    try:
        yield
    finally:
        os.environ.pop(_PARALLELISM, None)


@contextmanager
def _workers_break() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as error:
        # Killed, mostly for memory; or an unpicklable function under spawn; or a script without
        # `if __name__ == "__main__"`.
        raise RuntimeError(
            "a worker process ended before its chunk was measured; chunks in the cache are kept"
        ) from error


def _set_up(measurer: Measurer) -> None:
    global _measurer
    _measurer = measurer
    # The parent is interrupted, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent cannot end its workers, and they would wait for chunks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _measure_in_worker(rows: Rows, cache: ChunkCache | None, index: int) -> Measured:
    assert _measurer is not None
    return measure_chunk(_measurer, rows, cache, index)
