"""Checks of arguments. All mistakes are collected, and raised together."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard, TypeVar

import numpy as np

Made = TypeVar("Made")

_MOST_INTEGERS = 1 << 16  # of an argument that has one for each group


def described(value: object) -> str:
    """A value and its type, not longer than a line."""
    return f"{shown(value)} ({type(value).__name__})"


def shown(value: object, most_characters: int = 60) -> str:
    """The beginning of a value's repr."""
    try:
        return repr(value)[:most_characters]
    except Exception:  # a repr of the user's that fails, or an integer too long to print
        return "a value that cannot be shown"


def nearest_hint(name: str, known: Sequence[str]) -> str:
    """Asks whether the nearest of the known names was meant; empty where none is near."""
    import difflib  # takes longer than the rest of the package

    nearest = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {nearest[0]}?)" if nearest else ""


def is_text(value: object) -> TypeGuard[str]:
    """Whether it is a text that UTF-8 can write."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def index_of(name: str, value: object) -> int:
    """The Python integer of an index, which counts further than numpy's of 8 bits. TypeError for others."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected integer, got {described(value)}")
    return int(value)


def has_more_than(most: int, value: Any) -> bool:
    # Before they take memory: a range and a broadcast array are small, however long they are.
    try:
        return len(value) > most
    except OverflowError:  # more than 63 bits
        return True


def _is_number(value: object) -> TypeGuard[float]:
    # An integer may be too large for a float.
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


class Problems:
    """The mistakes found so far. Every check returns a value of the right type, whatever was given."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)

    def raise_if_any(self) -> None:
        if self._texts:
            raise ValueError("\n".join(self._texts))

    def value(self, make: Callable[[], Made]) -> Made | None:
        """What `make` returns; None where it raises ValueError, which is a mistake more."""
        try:
            return make()
        except ValueError as error:
            self.add(str(error))
            return None

    def integer(self, name: str, value: object, low: int, high: int) -> int:
        if not isinstance(value, (bool, np.bool_)):
            try:
                number = operator.index(value)  # type: ignore[arg-type]
            except Exception:  # no integer
                pass
            else:
                if low <= number <= high:
                    return number
        self.add(f"{name}: expected integer in {low}..{high}, got {described(value)}")
        return low

    def integers(self, name: str, value: object, low: int, high: int) -> list[int]:
        """One integer, or a sequence of them."""
        is_row = isinstance(value, range) or (isinstance(value, np.ndarray) and value.ndim == 1)
        if is_row and has_more_than(_MOST_INTEGERS, value):
            self.add(f"{name}: expected at most {_MOST_INTEGERS} integers, got {described(value)}")
            return [low]
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = value.tolist()
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
            return [self.integer(name, value, low, high)]
        if not value:
            self.add(f"{name}: expected at least one integer, got none")
        return [self.integer(f"{name}[{i}]", member, low, high) for i, member in enumerate(value)]

    def fraction(self, name: str, value: object) -> float:
        if _is_number(value) and 0 <= value <= 1:
            return float(value)
        self.add(f"{name}: expected a number in 0..1, got {described(value)}")
        return 0.0

    def number(self, name: str, value: object, low: int, high: int) -> float:
        if _is_number(value) and low <= value <= high:
            return float(value)
        self.add(f"{name}: expected number in {low}..{high}, got {described(value)}")
        return float(low)

    def boolean(self, name: str, value: object) -> bool:
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        self.add(f"{name}: expected True or False, got {described(value)}")
        return False

    def word(self, name: str, value: object, words: Sequence[str]) -> str:
        if isinstance(value, str) and value in words:
            return str(value)
        self.add(f"{name}: expected one of {', '.join(words)}, got {described(value)}")
        return words[0]
