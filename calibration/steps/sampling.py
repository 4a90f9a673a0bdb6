"""When to stop measuring a case."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

# The standard deviation is 1.4826 median absolute deviations, and the median's standard error is
# sqrt(pi / 2) = 1.2533 of the mean's; both hold for normal noise.
_SIGMA_PER_MAD = 1.4826
_MEDIAN_PER_MEAN_ERROR = 1.2533
# Samples that are short on the device take long beside it; a case must end all the same.
_MOST_TIMES_MAX_SAMPLES = 4


def relative_noise(samples_s: list[float]) -> float:
    """Standard error of the median over the median, robust against outliers; infinite for fewer than 3.

    The twin of median_noise in calibration/microbench/core/stopping_rule.cpp.
    """
    n = len(samples_s)
    median_s = statistics.median(samples_s) if samples_s else 0.0
    if n < 3 or median_s <= 0:
        return math.inf
    root = math.sqrt(n)
    deviation_s = statistics.median(abs(sample_s - median_s) for sample_s in samples_s)
    by_chance_s = max(
        _MEDIAN_PER_MEAN_ERROR * _SIGMA_PER_MAD * deviation_s / root, _error_from_ranks_s(samples_s)
    )
    # The medians of two thirds of quiet samples also differ, halved by 1.2 times the error of the median.
    return max(by_chance_s, _half_drift_s(samples_s) - by_chance_s) / median_s


def _error_from_ranks_s(samples_s: list[float]) -> float:
    """Samples that hop between two clocks may have no median deviation. A standard error of the median is
    also half the distance between the samples at ranks sqrt(n) / 2 below and above the middle, whatever
    their distribution."""
    ordered_s = sorted(samples_s)
    centre, half_width = (len(ordered_s) - 1) / 2, math.sqrt(len(ordered_s)) / 2

    def at_rank(rank: float) -> float:
        below = int(rank)
        above = min(below + 1, len(ordered_s) - 1)
        return ordered_s[below] + (rank - below) * (ordered_s[above] - ordered_s[below])

    return (at_rank(centre + half_width) - at_rank(centre - half_width)) / 2


def _half_drift_s(samples_s: list[float]) -> float:
    """Half of how far the samples moved from their first third to their last, as when a clock falls."""
    third = len(samples_s) // 3
    if third < 3:
        return 0.0  # the medians of one or two samples are no better than these: an outlier would count
    return abs(statistics.median(samples_s[-third:]) - statistics.median(samples_s[:third])) / 2


@dataclass(frozen=True)
class StoppingRule:
    """Times are the samples' own, so that all ranks, who know all of them, decide alike."""

    min_samples: int
    max_samples: int
    budget_s: float  # of samples, at most
    noise_fraction: float  # relative_noise that is good enough
    warmup: int  # samples that are thrown away first, at least
    warmup_s: float = 0.2  # and for so long: a GPU that was idle starts with a higher clock than it can keep
    min_case_s: float = 0.15  # of samples, at least: max_samples does not end a case before

    def is_warm(self, n_samples: int, spent_s: float) -> bool:
        """spent_s: of the warm-up's samples but the first, which compiles and allocates."""
        if n_samples < self.warmup:
            return False
        return spent_s >= self.warmup_s or n_samples >= self._most_samples(self.warmup)

    def is_enough(self, samples_s: list[float], spent_s: float) -> bool:
        """spent_s: of the samples together; more than their sum where each is the mean of several calls."""
        n = len(samples_s)
        if n < self.min_samples:
            return False
        if spent_s >= self.budget_s or n >= self._most_samples(self.min_samples):
            return True
        if spent_s < self.min_case_s:
            return False
        return n >= self.max_samples or relative_noise(samples_s) <= self.noise_fraction

    def _most_samples(self, at_least: int) -> int:
        return max(at_least, _MOST_TIMES_MAX_SAMPLES * self.max_samples)

    def flags(self, samples_s: list[float]) -> list[str]:
        return ["noisy"] if relative_noise(samples_s) > self.noise_fraction else []
