"""packsim.balance beside verl's get_seqlen_balanced_partitions (Karmarkar-Karp) for the rollouts of a step.

python tests/bench/rollouts.py [--repetitions 5]

verl divides samples over ranks by cost, and then those of each rank over as many micro-batches as the
largest rank's tokens need, again by cost. Needs packsim; without verl (`pip install --no-deps verl`) its rows
are left out. CPU time: medians of packsim, one run of verl.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import packsim

LINEAR_WEIGHT_TOKENS = 24576
# Rollouts, ranks, token budget, median tokens.
CASES = ((100_000, 64, 32_768, 1_097), (100_000, 64, 131_072, 2_981), (10_000, 64, 32_768, 1_097))


def verl_partitions() -> Callable[..., list[list[int]]] | None:
    """The function alone, without what its module imports (torch, tensordict and more)."""
    try:
        package = importlib.metadata.distribution("verl").locate_file("verl")
        text = (Path(str(package)) / "utils/seqlen_balancing.py").read_text()
    except (importlib.metadata.PackageNotFoundError, OSError) as error:
        print(f"verl: {error}", file=sys.stderr)
        return None
    wanted = ("karmarkar_karp", "get_seqlen_balanced_partitions")
    kept = [
        node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name in wanted
    ]
    import copy
    import heapq

    names: dict[str, Any] = {"copy": copy, "heapq": heapq}
    exec(compile(ast.Module(kept, []), "seqlen_balancing.py", "exec"), names)
    return names["get_seqlen_balanced_partitions"]  # type: ignore[no-any-return]


def drawn_lengths(n_samples: int, budget: int, median_tokens: int) -> NDArray[np.int32]:
    draws = np.random.default_rng(1).lognormal(math.log(median_tokens), 1.0, n_samples)
    return np.clip(draws, 1, budget).astype(np.int32)


def median_ms(work: Callable[[], Any], repetitions: int) -> float:
    times_ms = []
    for _ in range(repetitions):
        begin_s = time.process_time()
        work()
        times_ms.append(1000 * (time.process_time() - begin_s))
    return statistics.median(times_ms)


def by_verl(
    partitions: Callable[..., list[list[int]]], lengths: NDArray[np.int32], n_ranks: int, budget: int
) -> list[list[list[int]]]:
    """Micro-batches of each rank."""
    costs = [int(s) * (LINEAR_WEIGHT_TOKENS + int(s)) for s in lengths]
    ranks = partitions(costs, k_partitions=n_ranks, equal_size=False)
    n_micro_batches = max(-(-int(lengths[rank].sum()) // budget) for rank in ranks)
    divided = []
    for rank in ranks:
        parts = partitions([costs[i] for i in rank], k_partitions=n_micro_batches, equal_size=False)
        divided.append([[rank[i] for i in part] for part in parts])
    return divided


def report(
    name: str, ranks: list[list[list[int]]], lengths: NDArray[np.int32], budget: int, time_ms: float
) -> None:
    costs = lengths.astype(np.int64) * (LINEAR_WEIGHT_TOKENS + lengths.astype(np.int64))
    of_ranks = np.array([sum(int(costs[batch].sum()) for batch in rank) for rank in ranks])
    counts = {len(rank) for rank in ranks}
    tokens = [int(lengths[batch].sum()) for rank in ranks for batch in rank]
    over = sum(n > budget for n in tokens)
    print(
        f"| {name} | {len(lengths)}, {len(ranks)}, {budget} | {'/'.join(map(str, sorted(counts)))} "
        f"| {of_ranks.max() / of_ranks.mean():.4f} | {over} of {len(tokens)} | {time_ms:.1f} "
        f"| {1000 * time_ms / len(lengths):.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    repetitions = parser.parse_args().repetitions
    partitions = verl_partitions()
    print(
        "| | rollouts, ranks, budget | micro-batches | largest over mean | over budget | ms | us a sample |"
    )
    print("|---|---|---|---|---|---|---|")
    for n_samples, n_ranks, budget, median_tokens in CASES:
        lengths = drawn_lengths(n_samples, budget, median_tokens)
        divided = packsim.balance(lengths, n_ranks, budget)
        time_ms = median_ms(lambda: packsim.balance(lengths, n_ranks, budget), repetitions)  # noqa: B023
        ours = [[batch.tolist() for batch in divided.rank(rank)] for rank in range(n_ranks)]
        report("packsim.balance", ours, lengths, budget, time_ms)
        if partitions is None:
            continue
        begin_s = time.process_time()
        theirs = by_verl(partitions, lengths, n_ranks, budget)
        report("verl", theirs, lengths, budget, 1000 * (time.process_time() - begin_s))


if __name__ == "__main__":
    main()
