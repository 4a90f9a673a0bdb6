"""Packages that only some sources need, imported when they are."""

from __future__ import annotations

import importlib
from typing import Any


def import_optional(name: str, needed_for: str) -> Any:
    """A module of an optional package, such as `pyarrow.parquet`.

    Raises
    ------
    ImportError
        Where the package is missing, with what needs it and how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        message = f"{needed_for} needs {package}: pip install packsim[lengths]"
        raise ImportError(message, name=package) from error
