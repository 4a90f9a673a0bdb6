"""Threads, and processes that are forked or spawned, get the packs, plans and divisions of one thread."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cases import heavy_tailed

import packsim

LENGTHS = heavy_tailed(3000, 1, 4096)


def all_results(seed: int, plan: packsim.Plan | None = None, folder: str | None = None) -> list[Any]:
    """What each public call returns, as bytes; `plan` and `folder` are shared with others that call it."""
    packing = packsim.pack(LENGTHS, strategy="isf", capacity_tokens=4096, seed=seed)
    made = packsim.make_plan(packing, n_gpus=4, seed=seed)
    packer = packsim.StreamPacker(strategy="bfd", capacity_tokens=4096, window_samples=256, seed=seed)
    packs = [packer.push(LENGTHS[begin : begin + 500]) for begin in range(0, 3000, 500)] + [packer.finish()]
    division = packsim.balance(LENGTHS, 8 + seed, 8192)
    results: list[Any] = [
        made.to_bytes(),
        division.samples.tobytes(),
        *(pack.samples.tobytes() for pack in packs),
    ]
    if plan is not None:
        results.append([batch.samples.tobytes() for batch in plan.micro_batches(seed)])
    if folder is not None:
        path = Path(folder) / "shared.plan"  # which others write and read meanwhile
        made.save(path)
        opened = packsim.Plan.open(path)
        opened.check()
        assert packsim.Plan.from_bytes(opened.to_bytes()).content_hash == opened.content_hash
    return results


def in_child(seed: int, plan: packsim.Plan, folder: str, connection: Any) -> None:
    connection.send(all_results(seed, plan, folder))


def shared_plan(folder: Path) -> packsim.Plan:
    made = packsim.make_plan(packsim.pack(LENGTHS, strategy="ffd", capacity_tokens=4096), n_gpus=4)
    made.save(folder / "read.plan")
    return packsim.Plan.open(folder / "read.plan")


def test_threads_get_what_one_thread_gets(tmp_path: Path) -> None:
    plan, seeds = shared_plan(tmp_path), [1, 2, 3, 1, 2, 3]
    alone = [all_results(seed, plan) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: all_results(seed, plan, str(tmp_path)), seeds))
    assert together == alone


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_get_what_one_process_gets(method: str, tmp_path: Path) -> None:
    # A thread packs while the process is forked.
    plan, seeds = shared_plan(tmp_path), [1, 2]
    is_over = threading.Event()

    def pack_on() -> None:
        while not is_over.is_set():
            all_results(3, plan, str(tmp_path))

    busy = threading.Thread(target=pack_on)
    busy.start()
    context: Any = multiprocessing.get_context(method)
    pipes = [context.Pipe(duplex=False) for _ in seeds]
    children = [
        context.Process(target=in_child, args=(seed, plan, str(tmp_path), sender), daemon=True)
        for seed, (_, sender) in zip(seeds, pipes, strict=True)
    ]
    try:
        for child in children:
            child.start()
        answers = [receiver.recv() if receiver.poll(60) else "no answer" for receiver, _ in pipes]
    finally:
        is_over.set()
        busy.join()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0]
    assert answers == [all_results(seed, plan) for seed in seeds]
