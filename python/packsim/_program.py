"""The program `packsim`, where the package was built with it or it is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import which


def run_program(needed_by: str, *words: str) -> None:
    """Run `packsim WORDS...`. ValueError with its message for a user's mistake, RuntimeError for others."""
    beside = Path(sys.executable).parent / "packsim"
    program = str(beside) if beside.exists() else which("packsim")
    if program is None:
        raise RuntimeError(f"{needed_by} needs the simulator: PACKSIM_PROGRAM=1 pip install .")
    done = subprocess.run([program, *words, "--quiet"], capture_output=True, text=True)
    if done.returncode == 0:
        return
    kind = ValueError if done.returncode == 2 else RuntimeError
    raise kind(done.stderr.strip() or f"packsim {words[0]} ended with {done.returncode}")
