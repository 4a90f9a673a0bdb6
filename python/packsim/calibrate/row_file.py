"""The measurement file of a run that is timed."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from packsim.calibrate.run_facts import RunFacts
from packsim.calibrate.steps.errors import MachineError, UserError
from packsim.calibrate.steps.machine import device_name, library_versions
from packsim.calibrate.steps.measurement_file import MeasurementFile


class RowFile:
    """Rows of one run, behind those of earlier ones.

    driver: of the GPU, empty where it is not known.

    Raises
    ------
    ValueError
        For a file that is no measurement file, of another GPU, or that another run is writing.
    OSError
        Where it cannot be written.
    """

    def __init__(self, path: str, facts: RunFacts, device: torch.device, driver: str) -> None:
        self._attention = facts.attention
        self._implementation = facts.details["attention"]
        self._has_warned = False
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # A source has one plan, and another run may have another.
        self._source = f"run of {started}, process {os.getpid()}"
        details = library_versions(device) | facts.details | {"started": started}
        source = {
            "id": self._source,
            "gpu": device_name(device),
            "provenance": "packsim.calibrate.StepTimer in a training of the user's",
            "details": details | ({"driver": driver} if driver else {}),
            "plan": facts.plan,
        }
        with _as_ours():
            self._file = MeasurementFile(path, source)
        if self._file.warning:
            warnings.warn(self._file.warning, stacklevel=2)

    def append(self, row: dict[str, Any]) -> None:
        """Writes a row of this run. Says once where attention works through more than documents."""
        if self._attention == "rows" and "documents" in row["details"] and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"attention: {self._implementation} works through whole rows, padding and other documents "
                "included, so rows say these as documents; the factor of attention is one of such rows",
                stacklevel=2,
            )
        with _as_ours():
            self._file.append(row | {"source": self._source})

    def end(self) -> None:
        """Notes that the run has come to its end."""
        with _as_ours():
            self._file.append({"end": "complete"})

    def close(self) -> None:
        self._file.close()


@contextmanager
def _as_ours() -> Iterator[None]:
    """The errors of measurement files as those of this package."""
    try:
        yield
    except UserError as error:
        raise ValueError(str(error)) from None
    except MachineError as error:
        raise OSError(str(error)) from None
