"""A framework, where it is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def framework(module: str, package: str) -> Any:
    """The module.

    Raises
    ------
    ImportError
        Where the package that has it is not installed: with the command that installs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:  # something that it needs itself
            raise
        raise ImportError(
            f"{package}: expected to be installed, got no module {error.name}; pip install {package}"
        ) from error
