"""Packages that only some calls need, imported when they do."""

from __future__ import annotations

import importlib
from typing import Any


def import_optional(name: str, needed_for: str, extra: str = "lengths") -> Any:
    """A module of an optional package, such as `pyarrow.parquet`. extra: of this package, which installs it.

    Raises
    ------
    ImportError
        Where the package is missing, or one that it needs: with what needs it and how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = (error.name or name).partition(".")[0]
        message = f"{needed_for} needs {package}: pip install packsim[{extra}]"
        raise ImportError(message, name=package) from error
