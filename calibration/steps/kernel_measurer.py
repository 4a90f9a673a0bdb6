"""Measures the single-kernel cases of a plan."""

from __future__ import annotations

import gc
import statistics
from typing import Any

import torch

from calibration.steps.clock import Clock
from calibration.steps.collective_cases import Collectives
from calibration.steps.held_calls import Batch, HoldPlan, time_batch
from calibration.steps.kernel_case import KernelCase
from calibration.steps.kernel_cases import KERNELS, PreparedKernel
from calibration.steps.machine import GpuWatch
from calibration.steps.measuring import Unavailable, take_samples, together
from calibration.steps.ranks import Ranks
from calibration.steps.sampling import StoppingRule
from calibration.steps.training.trainer import Toolbox

# A sample is as many calls as take about this long, or one. Between samples the GPU idles, and cools.
_SAMPLE_S = 5e-3
_MOST_CALLS = 200  # of up to five launches each: a GPU's queue holds about 1000


class KernelMeasurer:
    """Kernels of one GPU are measured on rank 0 while the others wait; collectives on all ranks."""

    def __init__(self, toolbox: Toolbox, ranks: Ranks, rule: StoppingRule, watch: GpuWatch) -> None:
        self._toolbox = toolbox
        self._ranks = ranks
        self._rule = rule
        self._watch = watch
        self._collectives = Collectives(toolbox, ranks)

    def measure(self, case: KernelCase) -> dict[str, Any]:
        """The case's line. Raises Unavailable with the reason to skip it."""
        if case.kernel != "collective" and case.kernel not in KERNELS:
            raise Unavailable("measured by packsim_microbench only")
        prepared: PreparedKernel | None = None

        def prepare() -> None:
            nonlocal prepared
            if case.kernel == "collective":
                prepared = self._collectives.prepare(case)
            elif self._ranks.rank == 0:
                prepared = KERNELS[case.kernel](case, self._toolbox)

        try:
            together(self._ranks, prepare)
            return self._measure(case, prepared)
        finally:
            del prepare, prepared
            gc.collect()
            if self._toolbox.device.type == "cuda":
                torch.cuda.empty_cache()

    def _measure(self, case: KernelCase, prepared: PreparedKernel | None) -> dict[str, Any]:
        plan = HoldPlan(n_calls=1)

        def sample() -> list[Batch]:
            while True:
                batches = together(self._ranks, lambda: self._time(prepared, plan))
                if plan.accept(batches):
                    return batches

        # First calls compile and load; the third says how many of them fill a sample, and the host's time.
        for _ in range(3):
            first = sample()
        n_calls = max(1, min(_MOST_CALLS, round(_SAMPLE_S / max(batch.call_s for batch in first))))
        plan.plan_for(n_calls, host_s=n_calls * max(batch.host_s / batch.n_calls for batch in first))
        samples = take_samples(
            self._rule, self._watch, sample, lambda batch: batch.call_s, lambda batch: batch.batch_s
        )
        how = prepared.how if prepared else ""
        details = {"calls_per_sample": plan.n_calls, "host_call_s": _host_call_s(samples.rows), "runs": how}
        return {
            "case": case.text,
            "library": "torch",
            "source": "",
            "samples_s": samples.times_s,
            "flags": samples.flags + ([] if all(row.was_held for row in samples.rows) else ["host_bound"]),
            "details": samples.details | details,
        }

    def _time(self, prepared: PreparedKernel | None, plan: HoldPlan) -> Batch:
        if prepared is None:
            return Batch(call_s=0.0, n_calls=plan.n_calls)
        # Operands go on in turn from sample to sample: started anew, the first would still be in the cache.
        return time_batch(Clock(self._toolbox.device), prepared.calls, plan.n_calls, plan.hold_s)


def _host_call_s(batches: list[Batch]) -> float:
    return float(f"{statistics.median(batch.host_s / batch.n_calls for batch in batches):.4g}")
