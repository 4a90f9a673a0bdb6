"""python -m packsim.lengths"""

import sys

from packsim.lengths.command import main

if __name__ == "__main__":
    sys.exit(main())
