"""Plan files: one case a line, # comments and blank lines."""

from __future__ import annotations

from pathlib import Path

from calibration.steps.errors import MachineError, UserError
from calibration.steps.kernel_case import KernelCase


def read_plan(path: str) -> dict[KernelCase, str]:
    """Cases in the order of the file, each with its place "path:line"; a case given twice counts once.

    Raises UserError with every line that is no case, MachineError if the file cannot be read.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: expected text, got bytes that are none") from error
    cases: dict[KernelCase, str] = {}
    mistakes: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            cases.setdefault(KernelCase.parse(text), f"{path}:{number}")
        except ValueError as mistake:
            mistakes.append(f"{path}:{number}: {mistake}")
    if mistakes:
        raise UserError("\n".join(mistakes))
    return cases
