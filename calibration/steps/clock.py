"""Times of the device: events on a GPU, which its own clock stamps; the host's clock on a CPU."""

from __future__ import annotations

import time

import torch


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
