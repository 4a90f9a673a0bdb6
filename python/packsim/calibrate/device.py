"""The borders of a step on a device, and what the step took between them."""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Spent:
    """What a process saw of a step.

    Attributes
    ----------
    time_s : float
        From border to border.
    host_s : float
        Until the host had launched all of it.
    allocated_bytes, reserved_bytes : int
        At the peaks; 0 on a CPU.
    compilations : int
    """

    time_s: float
    host_s: float
    allocated_bytes: int
    reserved_bytes: int
    compilations: int


class StepClock:
    """Waits for the device at the borders of a step, and never between them."""

    def __init__(self, device: torch.device) -> None:
        if device.type not in ("cuda", "cpu"):
            raise ValueError(f"model: expected it on cuda or cpu, got {device}")
        self._device = device
        self._began_s = 0.0
        self._compiled_before = 0

    @property
    def is_cuda(self) -> bool:
        return self._device.type == "cuda"

    def begin(self) -> None:
        if self.is_cuda:
            torch.cuda.synchronize(self._device)
            torch.cuda.reset_peak_memory_stats(self._device)
        self._compiled_before = _compiled_graphs()
        self._began_s = time.perf_counter()

    def end(self) -> Spent:
        host_s = time.perf_counter() - self._began_s
        allocated, reserved = 0, 0
        if self.is_cuda:
            torch.cuda.synchronize(self._device)
        time_s = time.perf_counter() - self._began_s
        if self.is_cuda:
            allocated = torch.cuda.max_memory_allocated(self._device)
            reserved = torch.cuda.max_memory_reserved(self._device)
        return Spent(time_s, host_s, allocated, reserved, _compiled_graphs() - self._compiled_before)


def launch_s(device: torch.device) -> float:
    """Seconds in which the host launches an nn.Linear, its part of autograd included: the median of rounds.

    It draws no random numbers.
    """
    n_rounds, n_launches, n_values = 5, 100, 16
    layer = nn.utils.skip_init(  # type: ignore[no-untyped-call]
        nn.Linear, n_values, n_values, device=device, dtype=torch.bfloat16
    )
    nn.init.zeros_(layer.weight)
    values = torch.zeros(1, n_values, device=device, dtype=torch.bfloat16)
    rounds_s = []
    with torch.enable_grad():
        for _ in range(n_rounds + 1):
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            began_s = time.perf_counter()
            for _ in range(n_launches):
                layer(values)
            rounds_s.append((time.perf_counter() - began_s) / n_launches)
    return statistics.median(rounds_s[1:])  # the first one loads kernels


def _compiled_graphs() -> int:
    """Compilations of this process so far."""
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["stats"]["unique_graphs"])
