"""Work that data-parallel processes share, and what comes of it on all of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from packsim.torch.ranks import can_gather, summed


def dealt(costs: Sequence[int], n_ranks: int) -> list[list[int]]:
    """[n_ranks] places of units: longest first, each to the rank that has least to do.

    Of equally busy ranks it is the first, and of equally long units the first goes first, so that all
    processes deal alike.
    """
    ranks = [(0, rank) for rank in range(n_ranks)]
    places: list[list[int]] = [[] for _ in range(n_ranks)]
    for place in sorted(range(len(costs)), key=lambda place: (-costs[place], place)):
        load, rank = heapq.heappop(ranks)
        places[rank].append(place)
        heapq.heappush(ranks, (load + costs[place], rank))
    return places


class SharedWork:
    """The processes of a group, each of which measures some of the numbers that all of them need.

    group: None: all processes. Each is alone where the work is not shared, and without torch.distributed.
    """

    def __init__(self, group: Any = None, is_shared: bool = True) -> None:
        self._group = group
        has_others = is_shared and can_gather()
        self.rank = dist.get_rank(group) if has_others else 0
        self.size = dist.get_world_size(group) if has_others else 1

    def numbers(self, n: int, fill: Callable[[NDArray[np.float64]], None]) -> NDArray[np.float64]:
        """[n] float64, the same bits on all processes, by one all-reduce.

        fill: writes this process's numbers into zeros. Each number is of one process at most, so that the sum
        rounds nothing, in whatever order it is made. Where it raises on one process, it does on all: others
        would wait for what never comes.
        """
        # The last one counts processes that failed.
        values = np.zeros(n + 1)
        failure: Exception | None = None
        try:
            fill(values[:n])
        except Exception as error:
            failure = error
            values[n] = 1
        if self.size > 1:
            values = summed(torch.from_numpy(values), self._group).numpy()
        if failure is not None:
            raise failure
        if values[n]:
            raise RuntimeError(
                f"rank {self.rank}: expected all {self.size} processes to measure their part, "
                f"got an error on {int(values[n])} of them; theirs says what is wrong"
            )
        return values[:n]
