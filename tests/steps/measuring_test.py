"""Samples on a device that is made up: its clock falls, its host is slow."""

from __future__ import annotations

import unittest

import reference_run as reference
import torch

from calibration.steps.machine import GpuWatch
from calibration.steps.measuring import Samples, take_samples
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


if __name__ == "__main__":
    unittest.main()
