"""The extension module of the simulator, imported when it is needed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def native() -> Any:
    """`packsim._simulator`. ImportError where the package was built without it, with how to build it."""
    try:
        from packsim import _simulator
    except ImportError as error:
        message = (
            "the simulator is not in this build of packsim: in its source folder, "
            f"PACKSIM_PROGRAM=1 pip install . ({error})"
        )
        raise ImportError(message, name="packsim._simulator") from error
    return _simulator
