"""Commands that tests run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints, run in a folder. Data are those that come with the program."""
    environment = {name: value for name, value in os.environ.items() if name != "PACKSIM_DATA"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
