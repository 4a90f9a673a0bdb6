"""Tokens a second of PlanLoader beside those of DataLoader with DataCollatorWithFlattening of transformers.

python tests/bench/loader.py [--samples 20000] [--repetitions 5]

Both train the same packs of the same samples, one after the other in each repetition, in one process and
in workers. Needs packsim, torch, transformers and datasets. Prints a line for each kind of data set: medians,
and the ratio of the two in each repetition, by the clock and in CPU time of all processes. Both include the
start and the end of workers.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import datasets
import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers import DataCollatorWithFlattening

import packsim
from packsim.torch import PlanLoader, PlanSampler

CAPACITY_TOKENS = 8192


def drawn_lengths(n_samples: int) -> np.ndarray:
    draws = np.random.RandomState(3).lognormal(6.2, 1.0, n_samples)
    return np.clip(draws, 16, CAPACITY_TOKENS).astype(np.int32)


def data_sets(lengths: np.ndarray) -> dict[str, Any]:
    tokens = np.random.RandomState(4)
    ids = [tokens.randint(0, 32_000, n).astype(np.int32) for n in lengths.tolist()]
    arrow = datasets.Dataset.from_dict({"input_ids": ids, "labels": ids})
    return {
        "datasets": arrow,
        "datasets, numpy": arrow.with_format("numpy"),
        "lists in memory": [{"input_ids": i.tolist(), "labels": i.tolist()} for i in ids[: len(ids) // 4]],
        "arrays in memory": [{"input_ids": i, "labels": i} for i in ids],
        "tensors in memory": [{"input_ids": torch.from_numpy(i), "labels": torch.from_numpy(i)} for i in ids],
    }


def seconds(batches: Callable[[], Iterable[Any]]) -> tuple[float, float]:
    """(by the clock, CPU seconds of all processes)."""
    begin, cpu_begin = time.perf_counter(), cpu_seconds()
    for batch in batches():
        assert batch["input_ids"].shape[0] == 1
    return time.perf_counter() - begin, cpu_seconds() - cpu_begin


def cpu_seconds() -> float:
    """Of this process and of workers that have ended."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def compare(name: str, dataset: Any, lengths: np.ndarray, repetitions: int, num_workers: int) -> None:
    lengths = lengths[: len(dataset)]
    packing = packsim.pack(lengths, strategy="bfd", capacity_tokens=CAPACITY_TOKENS)
    plan = packsim.make_plan(packing, last_iteration="shorten")
    packs = [list(micro_batch) for micro_batch in PlanSampler(plan, 0, 1)]

    def flattened() -> Iterable[Any]:
        collator = DataCollatorWithFlattening()
        return DataLoader(dataset, batch_sampler=packs, collate_fn=collator, num_workers=num_workers)

    def planned() -> Iterable[Any]:
        return PlanLoader(plan, dataset, rank=0, world_size=1, num_workers=num_workers)

    rounds = [(seconds(flattened), seconds(planned)) for _ in range(repetitions)]
    m_tokens = int(lengths.sum(dtype=np.int64)) / 1e6
    texts = []
    for index, unit in enumerate(("s", "CPU s")):
        ratios = sorted(theirs[index] / ours[index] for theirs, ours in rounds)
        rates = [m_tokens / statistics.median(one[which][index] for one in rounds) for which in (0, 1)]
        texts.append(
            f"flattening {rates[0]:6.2f}, PlanLoader {rates[1]:6.2f} M tokens/{unit}, "
            f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )
    print(f"{name:20} workers {num_workers}: {'; '.join(texts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    lengths = drawn_lengths(arguments.samples)
    for name, dataset in data_sets(lengths).items():
        for num_workers in (0, 2):
            compare(name, dataset, lengths, arguments.repetitions, num_workers)


if __name__ == "__main__":
    main()
