"""Processes joined by gloo, started once and given many cases."""

from __future__ import annotations

import multiprocessing
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

    def __init__(self, connections: list[Connection]) -> None:
        self._connections = connections
        self._n_tasks = 0

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What each rank returned."""
        self._n_tasks += 1
        for connection in self._connections:
            connection.send((self._n_tasks, function, arguments))
        answers = [self._answer(rank) for rank in range(len(self._connections))]
        failures = [f"rank {rank}:\n{text}" for rank, (text, _) in enumerate(answers) if text]
        assert not failures, "\n".join(failures)
        return [result for _, result in answers]

    def _answer(self, rank: int) -> tuple[str, Any]:
        """To the latest task; late ones, to tasks that were given up, are left out."""
        connection = self._connections[rank]
        while connection.poll(_TIMEOUT_S):
            task, text, result = connection.recv()
            if task == self._n_tasks:
                return text, result
        raise TimeoutError(f"rank {rank} has not answered for {_TIMEOUT_S} s")


@contextmanager
def started(world_size: int, folder: Path) -> Iterator[ProcessPool]:
    # The server imports what all processes need, once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch._dynamo", "torch.nn.parallel", "training"])
    connections, processes = [], []
    for rank in range(world_size):
        ours, theirs = context.Pipe()
        arguments = (rank, world_size, f"file://{folder}/rendezvous", theirs)
        process = context.Process(target=_serve, args=arguments)
        process.start()
        connections.append(ours)
        processes.append(process)
    try:
        yield ProcessPool(connections)
    finally:
        for connection in connections:
            connection.send(None)
        for process in processes:
            process.join(10)
            if process.is_alive():
                process.kill()


def _serve(rank: int, world_size: int, meeting: str, connection: Connection) -> None:
    import torch
    import torch.distributed as dist

    timeout = timedelta(seconds=_TIMEOUT_S)
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world_size, timeout=timeout)
    while (task := _next_task(connection)) is not None:
        number, function, arguments = task
        torch.set_num_threads(1)  # each time: trainers set it, too
        try:
            connection.send((number, "", function(*arguments)))
        except BaseException:
            connection.send((number, traceback.format_exc(), None))
    dist.destroy_process_group()


def _next_task(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:  # the tests were killed
        return None
