"""Which of the data-parallel processes this one is."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist

from packsim._arguments import Problems

_MOST_PROCESSES = 1 << 20


def rank_and_size(rank: int | None = None, world_size: int | None = None) -> tuple[int, int]:
    """As given, else of torch.distributed where initialised, else of RANK and WORLD_SIZE, else 0 of 1."""
    if (rank is None) != (world_size is None):
        raise ValueError(f"rank, world_size: expected both or none, got {rank} and {world_size}")
    if rank is not None and world_size is not None:
        return checked(rank, world_size)
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return checked(_of_environment("RANK", 0), _of_environment("WORLD_SIZE", 1))


def checked(rank: object, world_size: object) -> tuple[int, int]:
    """ValueError for what is no rank of so many processes."""
    problems = Problems()
    size = problems.integer("world_size", world_size, 1, _MOST_PROCESSES)
    number = problems.integer("rank", rank, 0, size - 1)
    problems.raise_if_any()
    return number, size


def _of_environment(name: str, otherwise: int) -> int:
    text = os.environ.get(name, str(otherwise))
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"environment variable {name}: expected an integer, got {text!r:.60}") from None


def can_gather() -> bool:
    """Whether torch.distributed can send anything from rank to rank."""
    return dist.is_available() and dist.is_initialized()


class TorchGather:
    """From a value of each rank of a group to the list of those of all, by torch.distributed.

    group: None: of all ranks.
    """

    def __init__(self, group: Any = None) -> None:
        self._group = group

    def __call__(self, value: Any) -> list[Any]:
        """Lists of integers, equally long on all ranks, are one small all-reduce."""
        if isinstance(value, list) and all(isinstance(number, int) for number in value):
            return self._of_numbers(value)
        values: list[Any] = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(values, value, group=self._group)
        return values

    def _of_numbers(self, numbers: list[int]) -> list[list[int]]:
        device = "cuda" if dist.get_backend(self._group) == "nccl" else "cpu"
        rank, size = dist.get_rank(self._group), dist.get_world_size(self._group)
        rows = torch.zeros((size, len(numbers)), dtype=torch.int64)
        rows[rank] = torch.tensor(numbers)
        rows = rows.to(device)
        dist.all_reduce(rows, group=self._group)
        gathered: list[list[int]] = rows.tolist()
        return gathered
