"""Ends the process when a case does not come back."""

from __future__ import annotations

import os
import sys
import threading
from types import TracebackType

EXIT_STATUS = 3  # the machine's failure


class Watchdog:
    """Watches one case. A hung GPU or rank can be left by ending the process alone; the case's began line
    stays in the file, and the next run passes it by."""

    def __init__(self, case: str, timeout_s: float) -> None:
        self._case = case
        self._timeout_s = timeout_s
        self._timer = threading.Timer(timeout_s, self._end)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        print(
            f"{self._case}: expected an end within {self._timeout_s:g} s (--case-timeout-s), got none; "
            "the same command goes on after this case",
            file=sys.stderr,
            flush=True,
        )
        os._exit(EXIT_STATUS)
