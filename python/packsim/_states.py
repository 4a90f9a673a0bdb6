"""Checks of saved states, as JSON has them. ValueError names the place, what was expected and what came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packsim._arguments import Problems, described

MOST = 2**63 - 1


def checked_version(state: object, version: int, place: str = "state") -> Mapping[str, Any]:
    """The state, of which nothing but the version is checked."""
    if isinstance(state, Mapping) and state.get("version") == version:
        return state
    got = state.get("version") if isinstance(state, Mapping) else state
    raise ValueError(f"{place}.version: expected {version}, got {described(got)}")


def check_integers(place: str, state: Mapping[str, Any], *names: str, high: int = MOST) -> None:
    for name in names:
        check_integer(f"{place}.{name}", state.get(name), high)


def check_integer(place: str, value: object, high: int = MOST) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= high:
        raise ValueError(f"{place}: expected integer in 0..{high}, got {described(value)}")


def list_of_integers(problems: Problems, place: str, state: Mapping[str, Any], name: str) -> list[int]:
    """The list of that name; mistakes go to `problems`."""
    value = state.get(name)
    if isinstance(value, list):
        return [problems.integer(f"{place}.{name}[{i}]", n, 0, MOST) for i, n in enumerate(value)]
    problems.add(f"{place}.{name}: expected a list of integers, got {described(value)}")
    return []


def check_same_setting(own: Mapping[str, Any], given: object, of: str, place: str = "state.setting") -> None:
    """Names every difference to the setting of a state. of: whose setting it is, for messages."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{place}: expected {of}, got {type(given).__name__}")
    with Problems() as problems:
        mine, other = _flat(own), _flat(given)
        for name in sorted(mine.keys() | other.keys()):
            if mine.get(name) != other.get(name):
                problems.add(f"{place}: expected {name} {mine.get(name)!r}, got {other.get(name)!r}")


def _flat(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The members of mappings take the place of these."""
    flat: dict[str, Any] = {}
    for name, value in setting.items():
        flat |= value if isinstance(value, Mapping) else {str(name): value}
    return flat
