"""Which of the data-parallel processes this one is."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from packsim._arguments import Problems

_MOST_PROCESSES = 1 << 20


def rank_and_size(rank: int | None = None, world_size: int | None = None) -> tuple[int, int]:
    """Returns what is given, else torch.distributed's if initialised, else RANK and WORLD_SIZE, else 0 of
    1."""
    if (rank is None) != (world_size is None):
        raise ValueError(f"rank, world_size: expected both or none, got {rank} and {world_size}")
    if rank is not None and world_size is not None:
        return checked(rank, world_size)
    if can_gather():
        return dist.get_rank(), dist.get_world_size()
    return checked(_of_environment("RANK", 0), _of_environment("WORLD_SIZE", 1))


def checked(rank: object, world_size: object) -> tuple[int, int]:
    """ValueError for what is no rank of so many processes."""
    with Problems() as problems:
        size = problems.integer("world_size", world_size, 1, _MOST_PROCESSES)
        number = problems.integer("rank", rank, 0, size - 1)
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


def gathered(value: Any, group: Any = None) -> list[Any]:
    """A value of each rank of a group, on all of them. group: None: all ranks.

    Lists of integers, equally long on all ranks, are one small all-reduce.
    """
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    if isinstance(value, list) and all(isinstance(number, int) for number in value):
        rows = torch.zeros((size, len(value)), dtype=torch.int64)
        rows[rank] = torch.tensor(value)
        numbers: list[list[int]] = summed(rows, group).tolist()
        return numbers
    values: list[Any] = [None] * size
    dist.all_gather_object(values, value, group=group)
    return values


def summed(values: Tensor, group: Any) -> Tensor:
    """The sum of the values of all ranks of a group, on the CPU."""
    on_device = values.to("cuda" if dist.get_backend(group) == "nccl" else "cpu")
    dist.all_reduce(on_device, group=group)
    return on_device.cpu()
