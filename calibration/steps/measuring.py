"""Warm-up, samples and the case's details, for whatever can be run once more."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from calibration.steps.errors import Interrupted, MachineError, UserError
from calibration.steps.machine import GpuWatch
from calibration.steps.measurement_file import OUT_OF_MEMORY
from calibration.steps.ranks import Ranks
from calibration.steps.sampling import StoppingRule, relative_noise
from calibration.steps.training.compiling import compiled_graphs

T = TypeVar("T")


class Unavailable(Exception):
    """The case cannot be measured here: the text is the reason of its skipped line."""


@dataclass(frozen=True)
class _Failure:
    text: str


def _reason(error: Exception) -> str:
    if isinstance(error, Unavailable):
        return str(error)
    first_line = (str(error).strip().splitlines() or [""])[0]
    return f"{OUT_OF_MEMORY if _is_out_of_memory(error) else f'failed: {type(error).__name__}'}: {first_line}"


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    # The CPU's allocator and NCCL have no type of their own.
    text = str(error).lower()
    signs = ("can't allocate memory", "out of memory", "cublas_status_alloc_failed")
    return isinstance(error, RuntimeError) and any(sign in text for sign in signs)


def together(ranks: Ranks, work: Callable[[], T]) -> list[T]:
    """Does the work on all ranks: every rank's result, in their order.

    Raises Unavailable on all of them where it failed on one, with the reason; MachineError where the others
    do not come to hear of that, as they wait for this rank in the middle of the work.
    """
    failed: _Failure | None = None
    try:
        result: T | _Failure = work()
    except (Interrupted, MachineError, UserError):
        raise
    except Exception as error:  # Whatever a library raises costs this case alone.
        result = failed = _Failure(_reason(error))
    # Here, not in the handler: the exception holds the frames that hold the memory.
    try:
        rows = ranks.gather(result)
    except RuntimeError as error:
        what = failed.text if failed else "a rank is gone"
        raise MachineError(f"rank {ranks.rank}: {what}; the ranks lost each other: {error}") from error
    for row in rows:
        if isinstance(row, _Failure):
            raise Unavailable(row.text)
    return rows  # type: ignore[return-value]


@dataclass
class Samples:
    """What was measured of a case. rows: [n_samples], of the slowest rank each."""

    rows: list[Any] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


def take_samples(
    rule: StoppingRule,
    watch: GpuWatch,
    sample: Callable[[], list[T]],
    time_of: Callable[[T], float],
    spent_of: Callable[[T], float],
    after_warmup: Callable[[], None] = lambda: None,
) -> Samples:
    """sample: taken by all ranks together, what each of them measured; the slowest rank's counts.

    time_of: what is measured, of one call. spent_of: what the sample took on the device, of all its calls.
    """
    n_warmup, warmup_s, first_s = 0, 0.0, 0.0
    n_graphs_first = compiled_graphs()
    while not rule.is_warm(n_warmup, warmup_s):
        slowest = max(sample(), key=time_of)
        if n_warmup == 0:
            first_s = spent_of(slowest)
        else:
            warmup_s += spent_of(slowest)
        n_warmup += 1
    n_graphs = compiled_graphs()
    after_warmup()
    watch.reset()
    samples = Samples()
    spent_s = 0.0
    while not rule.is_enough(samples.times_s, spent_s):
        slowest = max(sample(), key=time_of)
        samples.rows.append(slowest)
        samples.times_s.append(time_of(slowest))
        spent_s += spent_of(slowest)
        watch.read()
    samples.flags = rule.flags(samples.times_s) + watch.flags()
    if compiled_graphs() > n_graphs:
        samples.flags.append("recompiled")
    noise = relative_noise(samples.times_s)
    samples.details = watch.details() | {
        "warmup": n_warmup,
        "warmup_s": round(warmup_s, 6),
        "first_sample_s": round(first_s, 6),
        "compilations": compiled_graphs() - n_graphs_first,
        "relative_noise": round(noise, 6) if math.isfinite(noise) else None,
        "median_s": statistics.median(samples.times_s),
    }
    return samples
