"""What Python code says of a scenario, as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from packsim._arguments import described
from packsim.simulator.errors import ScenarioError


def json_text(value: Any, place: str) -> str:
    """A value as JSON; numbers and arrays of numpy, paths and mappings count as what they stand for.

    Raises
    ------
    ScenarioError
        For what JSON does not have, such as nan. place: for its message.
    """
    refused: list[str] = []

    def plain(part: Any) -> Any:
        if isinstance(part, (np.generic, np.ndarray)):
            return part.tolist()
        if isinstance(part, os.PathLike):
            return os.fspath(part)
        if isinstance(part, Mapping):
            return dict(part)
        refused.append(described(part))
        return None

    try:
        text = json.dumps(value, default=plain, allow_nan=False, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError) as error:  # nan, a key that is no text, a value in itself
        message = f"{place}: expected what JSON can hold, got {described(value)}: {error}"
        raise ScenarioError([message]) from error
    if refused:
        raise ScenarioError([f"{place}: expected what JSON can hold, got {each}" for each in refused])
    return text
