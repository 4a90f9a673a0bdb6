"""The measurement file: JSON lines, append only, one write per line, resumable after a kill."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from pathlib import Path
from typing import Any

from .errors import MachineError, UserError
from .kernel_case import KernelCase

_FORMAT = 1
OUT_OF_MEMORY = "out of memory"
# packsim_microbench gives the same reason after "the GPU failed: ".
_ENDED_WITHIN = "an earlier run ended in the middle of it (crash, hang or kill)"
ENDED_WITHIN = f"failed: {_ENDED_WITHIN}"


class MeasurementFile:
    """An open file that a run appends to.

    The source line is written when it is opened. A file that already holds measurements of the same GPU is
    gone on with: `measured` are its cases, `skipped` its skipped ones with their reasons. An incomplete last
    line (its writer was killed in the middle) is cut off. A case that began and has no line after it that
    ends it is skipped from now on, as it may have ended that run: `warning` says both.
    """

    def __init__(self, path: str, source: dict[str, Any]) -> None:
        self.path = path
        self.measured: set[str] = set()
        self.skipped: dict[str, str] = {}
        self.warning = ""
        self._dangling: list[str] = []
        self._begun = ""
        self._began_at_bytes = 0
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._is_file = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
            # A device or a pipe has nothing to read back, and anyone may write to it.
            text = b""
            if self._is_file:
                self._lock()
                text = Path(path).read_bytes()
        except OSError as error:
            raise MachineError(f"{path}: {error.strerror}") from error
        whole, newline, torn = text.rpartition(b"\n")
        # Read before anything is cut off: a file that is none of ours is left as it is.
        if newline:
            self._read_back(whole, source["gpu"])
        elif torn and not torn.startswith(b'{"packsim_measurements"'):
            raise UserError(f'{path}:1: expected {{"packsim_measurements": {_FORMAT}, ...}}, got other text')
        if torn:
            self.warning = f"{path}: the incomplete last line of an earlier run is cut off"
            os.ftruncate(self._descriptor, len(whole) + len(newline))
        self.append({"packsim_measurements": _FORMAT, "source": source})
        for case in self._dangling:
            self.append({"skipped": case, "reason": ENDED_WITHIN})
            self.skipped[case] = ENDED_WITHIN
            said = f"{path}: skipped: {case}: {ENDED_WITHIN}; --retry-failed measures it again"
            self.warning += ("\n" if self.warning else "") + said

    def _lock(self) -> None:
        """Locks the file until the process ends. File systems that know no locks are trusted."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{self.path}: expected a file of this run alone, got one that another run is writing"
            ) from error
        except OSError:
            pass

    def _read_back(self, whole: bytes, gpu: str) -> None:
        for number, line in enumerate(whole.split(b"\n"), 1):
            place = f"{self.path}:{number}"
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError("expected an object")
                if number == 1 and row.get("packsim_measurements") != _FORMAT:
                    raise ValueError(f'expected {{"packsim_measurements": {_FORMAT}, ...}}')
                if "source" in row and isinstance(row["source"], dict):
                    self._check_source(row["source"], gpu)
                elif "case" in row:
                    if not row.get("samples_s"):
                        raise ValueError("/samples_s: expected at least one number")
                    self._ended(KernelCase.parse(row["case"]).text)
                    # packsim_microbench writes what its budget cut short, to be measured again.
                    if "cut" not in row.get("flags", []):
                        self.measured.add(KernelCase.parse(row["case"]).text)
                elif "skipped" in row:
                    self._ended(KernelCase.parse(row["skipped"]).text)
                    self.skipped[KernelCase.parse(row["skipped"]).text] = str(row.get("reason", ""))
                elif "began" in row:
                    case = KernelCase.parse(row["began"]).text
                    self._ended(case)
                    self._dangling.append(case)
                elif "end" in row:
                    self._dangling.clear()
                else:
                    raise ValueError("expected a source, case, skipped, began or end line")
            except ValueError as error:
                raise UserError(f"{place}: {error}") from error
        for text in self.measured:
            self.skipped.pop(text, None)

    def _ended(self, case: str) -> None:
        if case in self._dangling:
            self._dangling.remove(case)

    @staticmethod
    def _check_source(source: dict[str, Any], gpu: str) -> None:
        if source.get("id", "") == "" and source.get("gpu") != gpu:
            raise ValueError(
                f'expected measurements of "{gpu}", got of "{source.get("gpu")}"; give another file'
            )

    def is_done(self, case: KernelCase, retries_failed: bool = False) -> bool:
        """Measured, or seen to need more memory than there is, or to end a run unless those are to be
        retried; other skipped cases are tried again."""
        skipped_for = self.skipped.get(case.text, "")
        if skipped_for.endswith(_ENDED_WITHIN):
            return not retries_failed
        return case.text in self.measured or skipped_for.startswith(OUT_OF_MEMORY)

    def begin(self, case: KernelCase) -> None:
        """Notes that a case begins, before it is measured. What ends it is its case or skipped line, or the
        end of the run."""
        self._began_at_bytes = os.fstat(self._descriptor).st_size
        self.append({"began": case.text})
        self._begun = case.text

    def append(self, row: dict[str, Any]) -> None:
        """Writes one line and waits for the disk. Raises MachineError with the path and the system's text."""
        line = (json.dumps(row, allow_nan=False) + "\n").encode()
        try:
            n_written = os.write(self._descriptor, line)
            if n_written != len(line):
                os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - n_written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                # Pipes and terminals cannot be synced.
                if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                    raise
        except OSError as error:
            # A full disk is no fault of the case: it is to be measured when there is room again.
            if self._begun and self._is_file:
                os.ftruncate(self._descriptor, self._began_at_bytes)
            kept = f"; {len(self.measured)} cases are in the file, and the same command goes on from there"
            raise MachineError(f"{self.path}: {error.strerror}{kept}") from error
        self._begun = ""
        if "case" in row:
            self.measured.add(row["case"])

    def skip(self, case: KernelCase, reason: str) -> None:
        """A reason that the file already gives is repeated only where the case had begun once more."""
        if self._begun or self.skipped.get(case.text) != reason:
            self.append({"skipped": case.text, "reason": reason})
            self.skipped[case.text] = reason

    def close(self) -> None:
        os.close(self._descriptor)
