"""Which of the data-parallel processes this one is."""

from __future__ import annotations

import os

import torch.distributed as dist


def rank_and_size(rank: int | None = None, world_size: int | None = None) -> tuple[int, int]:
    """As given, else of torch.distributed where initialised, else of RANK and WORLD_SIZE, else 0 of 1."""
    if (rank is None) != (world_size is None):
        raise ValueError(f"rank, world_size: expected both or none, got {rank} and {world_size}")
    if rank is not None and world_size is not None:
        return rank, world_size
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
