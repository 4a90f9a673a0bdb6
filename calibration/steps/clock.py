"""Times of the device: events on a GPU, which its own clock stamps; the host's clock on a CPU."""

from __future__ import annotations

import time

import torch

# What torch.cuda._sleep counts: the clock of an H100. A slower one is held longer, which does no harm.
_GPU_CYCLES_PER_S = 1.98e9


class Clock:
    """Marks in the order of the work, and the seconds between them."""

    def __init__(self, device: torch.device) -> None:
        self._is_gpu = device.type == "cuda"
        self._device = device
        self._events: list[torch.cuda.Event] = []
        self._times_s: list[float] = []

    def start(self) -> None:
        self._events, self._times_s = [], []
        self.synchronize()
        self.mark()

    def start_held(self, hold_s: float) -> None:
        """Starts as start() does, but a GPU comes to the first mark only after hold_s; meanwhile work can be
        queued."""
        self._events, self._times_s = [], []
        self.synchronize()
        if self._is_gpu:
            torch.cuda._sleep(int(hold_s * _GPU_CYCLES_PER_S))
        self.mark()

    def is_past_start(self) -> bool:
        """Whether a GPU has come to the first mark. A CPU has nothing queued: it is never late."""
        return self._is_gpu and self._events[0].query()

    def mark(self) -> None:
        if self._is_gpu:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self._events.append(event)
        else:
            self._times_s.append(time.perf_counter())

    def spans_s(self) -> list[float]:
        """Seconds from each mark to the next, when the device has come to the last: [n_marks - 1]."""
        if self._is_gpu:
            self.synchronize()
            pairs = zip(self._events, self._events[1:])
            return [first.elapsed_time(second) / 1e3 for first, second in pairs]
        return [second - first for first, second in zip(self._times_s, self._times_s[1:])]

    def synchronize(self) -> None:
        if self._is_gpu:
            torch.cuda.synchronize(self._device)
