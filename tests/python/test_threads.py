"""Packing lets other threads run, and gives the same packs in any of them."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import heavy_tailed

import packsim

LENGTHS = heavy_tailed(1_000_000, seed=1, longest_tokens=4096)


def test_other_threads_run_while_packing() -> None:
    # A thread that holds the interpreter's lock in C++ never hands it over, whatever this interval is.
    previous = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    many_lengths = np.tile(LENGTHS, 5)
    has_packed = threading.Event()
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        while not has_packed.is_set():
            ticks += 1
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    time.sleep(0.05)
    before, begin = ticks, time.perf_counter()
    packsim.pack(many_lengths, strategy="ffs", capacity_tokens=4096)
    took_s, during = time.perf_counter() - begin, ticks - before
    has_packed.set()
    other.join()
    sys.setswitchinterval(previous)
    # Were the lock held, the thread would have had the milliseconds before and after; a sleep of 1 ms takes
    # up to some milliseconds on a busy machine.
    assert took_s > 0.1
    assert during > took_s * 1000 / 50


@pytest.mark.parametrize("strategy", ["isf", "ffs", "bfd"])
def test_threads_pack_the_same_as_one(strategy: str) -> None:
    lengths = LENGTHS[:200_000]

    def packed(seed: int) -> packsim.Packing:
        return packsim.pack(lengths, strategy=strategy, capacity_tokens=4096, seed=seed)

    seeds = [1, 2, 3, 1, 2, 3]
    alone = [packed(seed) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(packed, seeds))
    for one, other in zip(alone, together, strict=True):
        assert (one.groups[0].samples == other.groups[0].samples).all()
        assert (one.groups[0].offsets == other.groups[0].offsets).all()
    assert np.shares_memory(lengths, LENGTHS)
