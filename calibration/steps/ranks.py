"""The processes of a run: one alone, or as torchrun started them."""

from __future__ import annotations

import os
import pickle
import signal
from datetime import timedelta
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist

from calibration.steps.errors import Interrupted, MachineError, UserError

# Ranks run the same work; one that has not come after this long will not come.
_AGREEMENT_TIMEOUT_S = 120.0


class Ranks:
    """Who we are among the ranks, their process groups, and what they agree on.

    Agreements go over a gloo group in host memory, so that they never touch the measured device.
    """

    def __init__(self, device_kind: str) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.local_size = int(os.environ.get("LOCAL_WORLD_SIZE", str(self.size)))
        self._is_interrupted = False
        self._sequence_groups: dict[int, Any] = {}
        self.has_nccl = device_kind == "cuda" and dist.is_nccl_available()
        if device_kind == "cuda" and self.size > 1 and not self.has_nccl:
            raise MachineError("this PyTorch was built without NCCL: run on one GPU, without torchrun")
        backend = "cpu:gloo,cuda:nccl" if self.has_nccl else "gloo"
        try:
            if self.size > 1:
                dist.init_process_group(backend, timeout=timedelta(minutes=10))
            else:
                dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
            timeout = timedelta(seconds=_AGREEMENT_TIMEOUT_S)
            self._agreement = dist.new_group(backend="gloo", timeout=timeout)
        except (RuntimeError, ValueError) as error:
            raise MachineError(f"torch.distributed: {error}") from error
        # All ranks must leave the same collective on Ctrl-C, so the signal is only noted here.
        self._handlers = {
            number: signal.signal(number, self._note_interrupt) for number in (signal.SIGINT, signal.SIGTERM)
        }

    def _note_interrupt(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._is_interrupted:
            raise Interrupted
        self._is_interrupted = True

    def sequence_group(self, sp: int) -> Any:
        """The group of this rank when `sp` neighbours share a sequence. All ranks must ask for it."""
        if sp not in self._sequence_groups:
            for first in range(0, self.size, sp):
                members = list(range(first, first + sp))
                group = dist.new_group(members, backend="nccl" if self.has_nccl else "gloo")
                if self.rank in members:
                    self._sequence_groups[sp] = group
        return self._sequence_groups[sp]

    def gather(self, value: Any) -> list[Any]:
        """Every rank's value, in their order. Raises Interrupted on all ranks where one was."""
        if self.size == 1:
            rows = [(value, self._is_interrupted)]
        else:
            rows = self._gather_pickled((value, self._is_interrupted))
        if any(is_interrupted for _, is_interrupted in rows):
            raise Interrupted
        return [row for row, _ in rows]

    def _gather_pickled(self, value: Any) -> list[Any]:
        # This gathers as all_gather_object does, which needs NumPy, however.
        own = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(sizes, torch.tensor([own.numel()]), group=self._agreement)
        largest = int(max(sizes))
        padded = [torch.zeros(largest, dtype=torch.uint8) for _ in range(self.size)]
        dist.all_gather(
            padded, torch.nn.functional.pad(own, (0, largest - own.numel())), group=self._agreement
        )
        return [pickle.loads(bytes(row[: int(size)].tolist())) for row, size in zip(padded, sizes)]

    def barrier(self) -> None:
        if self.size > 1:
            dist.barrier(group=self._agreement)

    def close(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if dist.is_initialized():
            dist.destroy_process_group()


def pick_device(name: str) -> torch.device:
    """auto: the GPU of this local rank, or the CPU. Raises UserError for a device that is not there."""
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cuda" or (name == "auto" and n_gpus > 0):
        if local_rank >= n_gpus:
            raise UserError(
                f"--device {name}: expected a GPU per process, got {n_gpus} GPUs for rank {local_rank}"
            )
        torch.cuda.set_device(local_rank)
        return torch.device("cuda", local_rank)
    return torch.device("cpu")
