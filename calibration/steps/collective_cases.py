"""Collectives through torch.distributed, on the first `gpus` ranks of the run."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from calibration.steps.kernel_case import KernelCase
from calibration.steps.kernel_cases import PreparedKernel
from calibration.steps.measuring import Unavailable
from calibration.steps.ranks import Ranks
from calibration.steps.training.trainer import Toolbox

Call = Callable[[], object]


class Collectives:
    def __init__(self, toolbox: Toolbox, ranks: Ranks) -> None:
        self._toolbox = toolbox
        self._ranks = ranks
        self._groups: dict[int, Any] = {}

    def prepare(self, case: KernelCase) -> PreparedKernel | None:
        """None on ranks that take no part. Raises Unavailable on all ranks alike."""
        n_ranks, operation = case.integer("gpus"), case.value("op")
        self._check(case)
        if n_ranks not in self._groups:
            backend = "nccl" if self._ranks.has_nccl else "gloo"
            self._groups[n_ranks] = dist.new_group(list(range(n_ranks)), backend=backend)
        if self._ranks.rank >= n_ranks:
            return None
        values = case.integer("bytes") // self._toolbox.dtype.itemsize
        values = max(values - values % n_ranks, n_ranks)
        call = self._calls()[operation](
            values, n_ranks, float(case.value("imbalance")), self._groups[n_ranks]
        )
        return PreparedKernel(itertools.repeat(call), "nccl" if self._ranks.has_nccl else "gloo")

    def _check(self, case: KernelCase) -> None:
        n_ranks, local_size = case.integer("gpus"), self._ranks.local_size
        if n_ranks < 2:
            raise Unavailable("expected at least gpus=2, got gpus=1")
        if n_ranks > self._ranks.size:
            raise Unavailable(f"expected {n_ranks} processes, got {self._ranks.size}; start it by torchrun")
        n_nodes = -(-n_ranks // local_size)
        if case.integer("nodes") != n_nodes:
            raise Unavailable(
                f"{n_ranks} processes of this run are on {n_nodes} nodes, got nodes={case.value('nodes')}"
            )
        if case.value("op") == "send_recv" and n_ranks != 2:
            raise Unavailable(f"send_recv is between 2 processes, got gpus={n_ranks}")
        imbalance = float(case.value("imbalance"))
        if imbalance != 1 and case.value("op") != "all_to_all":
            raise Unavailable("only all_to_all can be uneven here")
        if imbalance > n_ranks:
            raise Unavailable(f"expected an imbalance of at most {n_ranks}, got {imbalance:g}")

    def _calls(self) -> dict[str, Callable[[int, int, float, Any], Call]]:
        return {
            "all_reduce": self._all_reduce,
            "all_gather": self._all_gather,
            "reduce_scatter": self._reduce_scatter,
            "all_to_all": self._all_to_all,
            "send_recv": self._send_recv,
        }

    def _random(self, values: int) -> torch.Tensor:
        return torch.randn(values, device=self._toolbox.device, dtype=torch.float32).to(self._toolbox.dtype)

    def _all_reduce(self, values: int, n_ranks: int, imbalance: float, group: Any) -> Call:
        del n_ranks, imbalance
        buffer = self._random(values)
        # The mean keeps the values from growing; gloo has none, and its sums stay finite for long enough.
        operation = dist.ReduceOp.AVG if self._ranks.has_nccl else dist.ReduceOp.MAX
        return lambda: dist.all_reduce(buffer, operation, group=group)

    def _all_gather(self, values: int, n_ranks: int, imbalance: float, group: Any) -> Call:
        del imbalance
        gathered, own = self._random(values), self._random(values // n_ranks)
        return lambda: dist.all_gather_into_tensor(gathered, own, group=group)

    def _reduce_scatter(self, values: int, n_ranks: int, imbalance: float, group: Any) -> Call:
        del imbalance
        whole, own = self._random(values), self._random(values // n_ranks)
        return lambda: dist.reduce_scatter_tensor(own, whole, group=group)

    def _all_to_all(self, values: int, n_ranks: int, imbalance: float, group: Any) -> Call:
        # Every rank sends `values`; rank 0 receives `imbalance` times the mean, the others share the rest.
        to_first = min(round(values * imbalance / n_ranks), values)
        others, rest = divmod(values - to_first, n_ranks - 1)
        sent = [to_first] + [others + (1 if index < rest else 0) for index in range(n_ranks - 1)]
        received = [sent[self._ranks.rank]] * n_ranks
        source, target = self._random(values), self._random(sum(received))
        return lambda: dist.all_to_all_single(target, source, received, sent, group=group)

    def _send_recv(self, values: int, n_ranks: int, imbalance: float, group: Any) -> Call:
        del n_ranks, imbalance
        buffer = self._random(values)
        if self._ranks.rank == 0:
            return lambda: dist.send(buffer, dst=1, group=group)
        return lambda: dist.recv(buffer, src=0, group=group)
