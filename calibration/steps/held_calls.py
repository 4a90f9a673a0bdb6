"""Calls that the host queues while the GPU is held, so that its time does not become theirs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

# The GPU is held for so many times what the host needed to queue a sample's calls.
_HOLD_PER_HOST = 1.5
_SHORTEST_HOLD_S = 50e-6
_LONGEST_HOLD_S = 50e-3


class HoldingClock(Protocol):
    """What clock.Clock does; tests have one of their own."""

    def start_held(self, hold_s: float) -> None: ...

    def mark(self) -> None: ...

    def is_past_start(self) -> bool: ...

    def spans_s(self) -> list[float]: ...


@dataclass(frozen=True)
class Batch:
    """Calls one after another. call_s is 0 on a rank that takes no part."""

    call_s: float
    n_calls: int
    host_s: float = 0.0  # to queue all of them
    was_held: bool = True  # to the last: the device did not wait for the host

    @property
    def batch_s(self) -> float:
        return self.n_calls * self.call_s


def time_batch(
    clock: HoldingClock,
    calls: Iterator[Callable[[], object]],
    n_calls: int,
    hold_s: float,
    now_s: Callable[[], float] = time.perf_counter,
) -> Batch:
    clock.start_held(hold_s)
    begin_s = now_s()
    for _ in range(n_calls):
        next(calls)()
    clock.mark()
    host_s = now_s() - begin_s
    # Asked for at once: a hold that is over by now was perhaps over before the last call was queued.
    was_held = not clock.is_past_start()
    return Batch(clock.spans_s()[0] / n_calls, n_calls, host_s, was_held)


class HoldPlan:
    """How many calls the next batch has and how long the GPU is held for it, as the last ones teach.

    The same on all ranks, as all learn from the batches of all.
    """

    def __init__(self, n_calls: int) -> None:
        self.n_calls = n_calls
        self.hold_s = _SHORTEST_HOLD_S
        self.has_given_up = False

    def accept(self, batches: list[Batch]) -> bool:
        """Whether the batch counts; else it is to be taken again. After giving up every batch counts."""
        host_s = max(batch.host_s for batch in batches)
        if all(batch.was_held for batch in batches):
            # Halved at most: a host that was slow once may be so again.
            self._hold_for(max(_HOLD_PER_HOST * host_s, self.hold_s / 2))
            self.has_given_up = False
            return True
        if self.has_given_up:
            return True
        if self.hold_s >= _LONGEST_HOLD_S and self.n_calls == 1:
            self.has_given_up = True
            return True
        was_longest = self.hold_s >= _LONGEST_HOLD_S
        self._hold_for(max(_HOLD_PER_HOST * host_s, 2 * self.hold_s))
        if was_longest:
            # A call that waits for the device, or a queue that is full, blocks for as long as the hold.
            self.n_calls = max(1, self.n_calls // 2)
        return False

    def plan_for(self, n_calls: int, host_s: float) -> None:
        """Chooses how many of n_calls, whose queueing takes host_s, are held."""
        most = max(1, int(n_calls * _LONGEST_HOLD_S / max(_HOLD_PER_HOST * host_s, _LONGEST_HOLD_S)))
        self.n_calls = most
        # First calls may have waited because they were first.
        self.has_given_up = False
        self._hold_for(_HOLD_PER_HOST * host_s * most / n_calls)

    def _hold_for(self, hold_s: float) -> None:
        self.hold_s = min(max(hold_s, _SHORTEST_HOLD_S), _LONGEST_HOLD_S)
