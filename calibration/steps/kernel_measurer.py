"""Measures the single-kernel cases of a plan."""

from __future__ import annotations

import gc
from typing import Any

import torch

from calibration.steps.clock import Clock
from calibration.steps.collective_cases import Collectives
from calibration.steps.kernel_case import KernelCase
from calibration.steps.kernel_cases import KERNELS, PreparedKernel
from calibration.steps.machine import GpuWatch
from calibration.steps.measuring import Unavailable, take_samples, together
from calibration.steps.ranks import Ranks
from calibration.steps.sampling import StoppingRule
from calibration.steps.training.trainer import Toolbox

# A sample is as many calls as take about this long, or one: below it, clocks are too coarse.
_SAMPLE_S = 2e-3
_MOST_CALLS = 200  # of up to five launches each: a GPU's queue holds about 1000
# Time that the host needs for a call, at most. So long the GPU is kept busy, to run the calls back to back.
_HOST_CALL_S = 100e-6
_GPU_CYCLES_PER_S = 2e9


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
        # First calls compile and load; they say how many of them fill a sample.
        for _ in range(2):
            first_s = max(together(self._ranks, lambda: self._time_s(prepared, 1)))
        n_calls = max(1, min(_MOST_CALLS, round(_SAMPLE_S / first_s)))
        samples = take_samples(
            self._rule,
            self._watch,
            lambda: together(self._ranks, lambda: self._time_s(prepared, n_calls)),
            lambda time_s: time_s,
            lambda time_s: n_calls * time_s,
        )
        how = prepared.how if prepared else ""
        return {
            "case": case.text,
            "library": "torch",
            "source": "",
            "samples_s": samples.times_s,
            "flags": samples.flags,
            "details": samples.details | {"calls_per_sample": n_calls, "runs": how},
        }

    def _time_s(self, prepared: PreparedKernel | None, n_calls: int) -> float:
        """Seconds of one call, by n_calls of them; 0 where this rank takes no part."""
        if prepared is None:
            return 0.0
        # Operands go on in turn from sample to sample: started anew, the first would still be in the cache.
        clock = Clock(self._toolbox.device)
        if self._toolbox.device.type == "cuda":
            torch.cuda.synchronize(self._toolbox.device)
            torch.cuda._sleep(int(n_calls * _HOST_CALL_S * _GPU_CYCLES_PER_S))
            clock.mark()
        else:
            clock.start()
        for _ in range(n_calls):
            next(prepared.calls)()
        clock.mark()
        return clock.spans_s()[0] / n_calls
