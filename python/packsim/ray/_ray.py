"""Ray, imported when it is needed."""

from __future__ import annotations

import importlib
from typing import Any


def import_ray(name: str = "ray") -> Any:
    """A module of Ray. ImportError says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"packsim.ray needs {error.name or name}: pip install packsim[ray]"
        raise ImportError(message, name=error.name) from error
