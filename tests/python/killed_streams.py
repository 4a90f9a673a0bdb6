"""Processes that train a stream, are killed, and begin again at the state that was saved last."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from stream_training import dataset_of, seen

from packsim.torch import StreamLoader

MICRO_BATCHES_PER_STEP = 3
_TIMEOUT_S = 60.0
_STATE = "state.json"


class Run:
    """One training run in a folder, of processes that come and go.

    `trained` has, for each time that processes ran, the batches of each rank that the state saved last
    counts. What was trained behind it is lost with the processes.
    """

    def __init__(self, folder: Path, saves_inside_steps: bool) -> None:
        self.folder = folder
        self.saves_inside_steps = saves_inside_steps
        self.trained: list[list[list[Any]]] = []
        self.n_kills = 0

    def saved(self) -> dict[str, Any]:
        path = self.folder / _STATE
        return json.loads(path.read_text()) if path.exists() else {"stream": None, "sum": 0.0, "n_batches": 0}

    @property
    def is_complete(self) -> bool:
        return (self.saved()["stream"] or {"epoch": 0})["epoch"] == 1

    def go_on(self, world_size: int, num_workers: int, kills: tuple[int, int] | None = None) -> None:
        """Start processes; kills: the rank that is killed, and behind how many of its batches or later."""
        before = self.saved()["n_batches"]
        folder = self.folder / f"{len(self.trained)}"
        folder.mkdir()
        context = multiprocessing.get_context("fork")  # spawned ones would import PyTorch anew
        arguments = (self.folder, folder, self.saves_inside_steps, world_size, num_workers)
        processes = [context.Process(target=_train, args=(rank, *arguments)) for rank in range(world_size)]
        for process in processes:
            process.start()
        try:
            if kills is not None and self._is_training_behind(kills, folder, processes):
                # With its workers, which have its connections open: others would wait for these, too.
                os.killpg(processes[kills[0]].pid, signal.SIGKILL)
                self.n_kills += 1
            self._wait_until(lambda: all(process.exitcode is not None for process in processes))
            assert kills is not None or {process.exitcode for process in processes} == {0}
        finally:
            for process in processes:
                process.kill()
        n_saved = self.saved()["n_batches"] - before
        lines = [(folder / f"{rank}").read_text().splitlines()[:n_saved] for rank in range(world_size)]
        self.trained.append([[json.loads(line) for line in of_rank] for of_rank in lines])

    def _is_training_behind(self, kills: tuple[int, int], folder: Path, processes: list[Any]) -> bool:
        """Waits for so many batches of a rank; False where it ended before."""
        victim, n_batches = kills
        log = folder / f"{victim}"

        def has_ended() -> bool:
            return any(process.exitcode is not None for process in processes)

        self._wait_until(lambda: has_ended() or (log.exists() and log.read_bytes().count(b"\n") >= n_batches))
        return not has_ended()

    @staticmethod
    def _wait_until(is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + _TIMEOUT_S
        while not is_so():
            assert time.monotonic() < end, "a rank waits for one that was killed"
            time.sleep(0.002)


def killed_again_and_again(run: Run, draw: random.Random, world_sizes: list[int]) -> None:
    """Until the epoch is trained, each time with other ranks and workers; the last ones are left alive."""
    while not run.is_complete:
        world_size = draw.choice(world_sizes)
        num_workers = draw.choice([0, 1, 2, 4] if world_size < 4 else [0, 1, 2])  # of 8 shards
        kills = (draw.randrange(world_size), draw.randint(1, 12)) if run.n_kills < 4 else None
        run.go_on(world_size, num_workers, kills)


def _train(
    rank: int, run: Path, folder: Path, saves_inside_steps: bool, world_size: int, num_workers: int
) -> None:
    """Trains one number: the sum of all token ids with their loss weights, over the ranks."""
    os.setpgid(0, 0)
    # Where another rank is killed, this one fails; nobody needs to read how.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    torch.set_num_threads(1)
    timeout = timedelta(seconds=_TIMEOUT_S)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world_size, timeout=timeout
    )
    more = {"multiprocessing_context": "fork"} if num_workers else {}
    loader = StreamLoader(
        dataset_of(rank, world_size),
        num_workers=num_workers,
        micro_batches_per_step=MICRO_BATCHES_PER_STEP,
        agree_every_steps=2,
        **more,
    )
    saved = Run(run, saves_inside_steps).saved()
    if saved["stream"] is not None:
        loader.load_state_dict(saved["stream"])
    total, n_batches = torch.tensor(saved["sum"], dtype=torch.float64), saved["n_batches"]

    def save() -> None:
        state = {"stream": loader.gathered_state_dict(), "sum": float(total), "n_batches": n_batches}
        if rank == 0:
            (run / "next").write_text(json.dumps(state))
            os.replace(run / "next", run / _STATE)

    with open(folder / f"{rank}", "w", buffering=1) as log:
        for batch in loader:
            own = (batch["loss_weights"].double() * batch["input_ids"]).sum()
            dist.all_reduce(own)
            total, n_batches = total + own, n_batches + 1
            log.write(json.dumps(seen(batch)) + "\n")
            # Every second place, so that some of what was trained is lost.
            if (
                n_batches % 2 == 0
                if saves_inside_steps
                else batch.is_last and batch.micro_batch.iteration % 2
            ):
                save()
    save()
    dist.destroy_process_group()
