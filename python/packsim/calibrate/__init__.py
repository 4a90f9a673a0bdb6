"""Measures a user's own training, for `packsim calibrate fit`: calibration/README.md shows it.

`packsim.trainers.StepTimerCallback` does so in the Trainer of transformers, and in TRL's.
"""

from packsim.calibrate.said import Said as Said
from packsim.calibrate.step_timer import StepTimer as StepTimer
