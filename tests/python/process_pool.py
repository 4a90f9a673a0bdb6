"""Processes joined by gloo, started once and given many cases."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_TIMEOUT_S = 120


class ProcessPool:
    """`run()` calls a function of a module on every process: function(*arguments), in their process group."""

    def __init__(self, world_size: int, folder: Path) -> None:
        self._world_size = world_size
        self._folder = folder
        self._n_starts = 0
        self._start()

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What each rank returned."""
        for connection in self._connections:
            connection.send((function, arguments))
        answers = [self._answer(rank) for rank in range(self._world_size)]
        if any(answer is None for answer in answers):
            # Processes that hang or have ended answer no later test either.
            self._show_stacks()
            self.stop(patience_s=0)
            self._start()
        answers = [answer or (f"no answer for {_TIMEOUT_S} s, or ended", None) for answer in answers]
        failures = [f"rank {rank}:\n{text}" for rank, (text, _) in enumerate(answers) if text]
        assert not failures, "\n".join(failures)
        return [result for _, result in answers]

    def stop(self, patience_s: float = 10) -> None:
        for connection, process in zip(self._connections, self._processes):
            if patience_s and process.is_alive():
                connection.send(None)
        for process in self._processes:
            process.join(patience_s)
            if process.is_alive():
                process.kill()
                process.join()

    def _start(self) -> None:
        # The server imports what all processes need, once.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["torch._dynamo", "torch.nn.parallel", "training"])
        self._n_starts += 1
        self._connections: list[Connection] = []
        self._processes: list[Any] = []
        meeting = f"file://{self._folder}/rendezvous{self._n_starts}"
        for rank in range(self._world_size):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(rank, self._world_size, meeting, theirs))
            process.start()
            self._connections.append(ours)
            self._processes.append(process)

    def _answer(self, rank: int) -> tuple[str, Any] | None:
        """The text of an exception, or nothing and a result; None from a process that hangs or has ended."""
        connection = self._connections[rank]
        try:
            return connection.recv() if connection.poll(_TIMEOUT_S) else None
        except EOFError:
            return None

    def _show_stacks(self) -> None:
        """On the error stream: of the ranks, and of the processes that these have started."""
        for process in self._processes:
            for pid in (process.pid, *_children(process.pid)):
                try:
                    os.kill(pid, signal.SIGUSR1)
                except ProcessLookupError:
                    continue
                time.sleep(0.5)  # or they write into each other's lines


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@contextmanager
def started(world_size: int, folder: Path) -> Iterator[ProcessPool]:
    pool = ProcessPool(world_size, folder)
    try:
        yield pool
    finally:
        pool.stop()


def _serve(rank: int, world_size: int, meeting: str, connection: Connection) -> None:
    import torch
    import torch.distributed as dist

    faulthandler.register(signal.SIGUSR1)
    # CPython 3.11 hangs in a worker that is forked while a thread of an earlier data loader ends.
    multiprocessing.get_context("forkserver").set_forkserver_preload(["torch", "stream_training"])
    timeout = timedelta(seconds=_TIMEOUT_S)
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world_size, timeout=timeout)
    while (task := _next_task(connection)) is not None:
        function, arguments = task
        torch.set_num_threads(1)  # each time: trainers set it, too
        try:
            connection.send(("", function(*arguments)))
        except BaseException:
            connection.send((traceback.format_exc(), None))
    dist.destroy_process_group()


def _next_task(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:  # the tests were killed
        return None
