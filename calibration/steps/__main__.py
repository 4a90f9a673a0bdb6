"""python3 -m calibration.steps"""

import sys

from calibration.steps.start import start

if __name__ == "__main__":
    sys.exit(start())
