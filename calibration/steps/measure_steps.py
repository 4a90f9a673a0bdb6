#!/usr/bin/env python3
"""The same as python3 -m calibration.steps, from any folder: what torchrun is given."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from calibration.steps.start import start

if __name__ == "__main__":
    sys.exit(start())
