"""When to stop measuring a case."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

# The standard deviation is 1.4826 median absolute deviations, and the median's standard error is
# sqrt(pi / 2) = 1.2533 of the mean's; both hold for normal noise.
_SIGMA_PER_MAD = 1.4826
_MEDIAN_PER_MEAN_ERROR = 1.2533


def relative_noise(samples_s: list[float]) -> float:
    """Standard error of the median over the median, robust against outliers; infinite for fewer than 3."""
    if len(samples_s) < 3:
        return math.inf
    median_s = statistics.median(samples_s)
    deviation_s = statistics.median(abs(sample_s - median_s) for sample_s in samples_s)
    error_s = _MEDIAN_PER_MEAN_ERROR * _SIGMA_PER_MAD * deviation_s / len(samples_s) ** 0.5
    return error_s / median_s if median_s > 0 else 0.0


@dataclass(frozen=True)
class StoppingRule:
    min_samples: int
    max_samples: int
    budget_s: float  # of the samples' own time, so that all ranks, who know all times, decide alike
    noise_fraction: float  # relative_noise that is good enough
    warmup: int  # samples that are thrown away first

    def is_enough(self, samples_s: list[float]) -> bool:
        if len(samples_s) < self.min_samples:
            return False
        is_quiet = relative_noise(samples_s) <= self.noise_fraction
        return is_quiet or len(samples_s) >= self.max_samples or sum(samples_s) >= self.budget_s

    def flags(self, samples_s: list[float]) -> list[str]:
        return ["noisy"] if relative_noise(samples_s) > self.noise_fraction else []
