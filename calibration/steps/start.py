"""Starts the program, or says that PyTorch is missing."""

from __future__ import annotations

import sys
import time


def start() -> int:
    """The exit status."""
    started_s = time.monotonic()  # before PyTorch is imported, which counts too
    try:
        from calibration.steps.main import main
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        print(
            f"{sys.executable}: no PyTorch there: pip install torch, or give another Python", file=sys.stderr
        )
        return 3
    return main(started_s=started_s)
