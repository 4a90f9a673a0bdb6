"""Samples on a device that is made up: its clock falls, its host is slow."""

from __future__ import annotations

import itertools
import unittest
from unittest import mock

import reference_run as reference
import torch

from calibration.steps.held_calls import Batch, HoldPlan, time_batch
from calibration.steps.kernel_case import KernelCase
from calibration.steps.kernel_measurer import KernelMeasurer
from calibration.steps.machine import GpuWatch
from calibration.steps.measuring import Samples, take_samples
from calibration.steps.ranks import Ranks
from calibration.steps.sampling import StoppingRule

_RULE = StoppingRule(min_samples=5, max_samples=50, budget_s=30, noise_fraction=0.005, warmup=3)
_SUSTAINED_S = 100e-6


class _FallingClock:
    """A GPU that was idle runs 8 % faster at first, and falls to what it can keep within 0.15 s."""

    def __init__(self) -> None:
        self._busy_s = 0.0

    def take(self, n_calls: int) -> list[float]:
        speed = 1 + 0.08 * max(0.0, 1 - self._busy_s / 0.15)
        call_s = _SUSTAINED_S / speed
        self._busy_s += n_calls * call_s
        return [call_s]


def _samples(rule: StoppingRule, n_calls: int) -> Samples:
    gpu = _FallingClock()
    return take_samples(
        rule,
        GpuWatch(torch.device("cpu")),
        lambda: gpu.take(n_calls),
        lambda call_s: call_s,
        lambda call_s: n_calls * call_s,
    )


class SustainedClockTest(unittest.TestCase):
    def test_a_kernel_is_measured_at_the_clock_that_lasts(self) -> None:
        for n_calls in (20, 50, 2000):
            samples = _samples(_RULE, n_calls)
            self.assertLess(abs(samples.details["median_s"] / _SUSTAINED_S - 1), 0.01, n_calls)
            self.assertEqual(samples.flags, [], n_calls)
            self.assertGreaterEqual(samples.details["warmup_s"], 0.2)

    def test_without_the_warm_up_the_fall_is_told_as_noise(self) -> None:
        rule = StoppingRule(5, 50, 30, 0.005, warmup=3, warmup_s=0, min_case_s=0.1)
        samples = _samples(rule, 20)
        self.assertEqual(samples.flags, ["noisy"])
        self.assertGreater(samples.details["relative_noise"], 0.01)


class _Gpu:
    """Host calls and kernels take what they take; kernels run in the order of the queue, on a time line of
    their own. A call that waits for the device returns when the queue is empty."""

    def __init__(self, host_call_s: float, kernel_s: float, waits: bool = False, queue: int = 10**9) -> None:
        self.now_s = 1.0
        self._host_call_s = host_call_s
        self._kernel_s = kernel_s
        self._waits = waits
        self._queue = queue
        self._ends_s: list[float] = []
        self._free_s = 0.0
        self._marks_s: list[float] = []

    def _run(self, duration_s: float) -> None:
        self._free_s = max(self._free_s, self.now_s) + duration_s
        self._ends_s.append(self._free_s)

    def call(self) -> None:
        self.now_s += self._host_call_s
        if len(self._ends_s) >= self._queue:
            self.now_s = max(self.now_s, self._ends_s[-self._queue])
        self._run(self._kernel_s)
        if self._waits:
            self.now_s = max(self.now_s, self._free_s)

    def start_held(self, hold_s: float) -> None:
        self.now_s = max(self.now_s, self._free_s)
        self._marks_s = []
        self._run(hold_s)
        self.mark()

    def mark(self) -> None:
        self._marks_s.append(max(self._free_s, self.now_s))

    def is_past_start(self) -> bool:
        return self._marks_s[0] <= self.now_s

    def spans_s(self) -> list[float]:
        self.now_s = max(self.now_s, self._free_s)
        return [second - first for first, second in zip(self._marks_s, self._marks_s[1:])]

    def time(self, plan: HoldPlan) -> tuple[Batch, int]:
        """The batch that counts, and how many it took."""
        for n_tries in range(1, 100):
            batch = time_batch(
                self, itertools.repeat(self.call), plan.n_calls, plan.hold_s, lambda: self.now_s
            )
            if plan.accept([batch]):
                return batch, n_tries
        raise AssertionError("it was tried again and again")


class HeldCallsTest(unittest.TestCase):
    def test_the_time_of_a_slow_host_is_not_that_of_its_kernels(self) -> None:
        # The host needs 300 us for a call, the kernel 20 us. 200 calls are 60 ms of the host's time: as many
        # as 50 ms of holding leave room for, 1.5 times, are 111.
        gpu = _Gpu(host_call_s=300e-6, kernel_s=20e-6)
        plan = HoldPlan(1)
        batch, _ = gpu.time(plan)
        plan.plan_for(200, host_s=200 * batch.host_s)
        self.assertEqual(plan.n_calls, 111)
        batch, n_tries = gpu.time(plan)
        self.assertAlmostEqual(batch.call_s, 20e-6)
        self.assertEqual((batch.was_held, n_tries, plan.has_given_up), (True, 1, False))
        # Held too briefly, the kernels would be as slow as the host.
        unheld = time_batch(gpu, itertools.repeat(gpu.call), 111, 50e-6, lambda: gpu.now_s)
        self.assertFalse(unheld.was_held)
        self.assertGreater(unheld.call_s, 290e-6)

    def test_a_host_that_is_slower_than_it_was_costs_another_try_alone(self) -> None:
        plan = HoldPlan(1)
        plan.plan_for(20, host_s=20 * 10e-6)
        gpu = _Gpu(host_call_s=100e-6, kernel_s=20e-6)
        batch, n_tries = gpu.time(plan)
        self.assertEqual((batch.n_calls, batch.was_held, n_tries), (20, True, 2))
        self.assertAlmostEqual(batch.call_s, 20e-6)

    def test_a_full_queue_makes_the_samples_smaller(self) -> None:
        # The 51st launch blocks until the hold is over.
        gpu = _Gpu(host_call_s=5e-6, kernel_s=20e-6, queue=50)
        plan = HoldPlan(1)
        plan.plan_for(200, host_s=200 * 5e-6)
        batch, _ = gpu.time(plan)
        self.assertEqual((batch.n_calls, batch.was_held), (25, True))
        self.assertAlmostEqual(batch.call_s, 20e-6)

    def test_a_call_that_waits_for_the_device_is_told_as_bound_by_the_host(self) -> None:
        gpu = _Gpu(host_call_s=5e-6, kernel_s=20e-6, waits=True)
        plan = HoldPlan(200)
        batch, n_tries = gpu.time(plan)
        self.assertEqual((batch.n_calls, batch.was_held, plan.has_given_up), (1, False, True))
        self.assertLess(n_tries, 25)
        # It is not tried again for every sample.
        self.assertEqual(gpu.time(plan)[1], 1)

    def test_ranks_agree_on_the_slowest_host(self) -> None:
        plan = HoldPlan(10)
        self.assertFalse(plan.accept([Batch(1e-6, 10, 1e-5), Batch(1e-6, 10, 1e-2, was_held=False)]))
        self.assertAlmostEqual(plan.hold_s, 1.5e-2)


class FlagsTest(unittest.TestCase):
    def test_a_kernel_whose_calls_wait_is_flagged(self) -> None:
        def late_batch(clock: object, calls: object, n_calls: int, hold_s: float) -> Batch:
            return Batch(call_s=1e-3, n_calls=n_calls, host_s=hold_s, was_held=False)

        rule = StoppingRule(5, 5, 1, noise_fraction=9, warmup=1, warmup_s=0, min_case_s=0)
        ranks = Ranks("cpu")
        self.addCleanup(ranks.close)
        measurer = KernelMeasurer(reference.toolbox(), ranks, rule, GpuWatch(reference.CPU))
        case = KernelCase.parse("launch_gap")
        self.assertEqual(measurer.measure(case)["flags"], [])
        with mock.patch("calibration.steps.kernel_measurer.time_batch", late_batch):
            self.assertEqual(measurer.measure(case)["flags"], ["host_bound"])


if __name__ == "__main__":
    unittest.main()
