"""Checks of arguments. All mistakes are collected, and raised together."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np


def described(value: object) -> str:
    """A value and its type, not longer than a line."""
    try:
        shown = f"{value!r:.60}"
    except Exception:  # a repr of the user's that fails, or an integer too long to print
        shown = "a value that cannot be shown"
    return f"{shown} ({type(value).__name__})"


def nearest_hint(name: str, known: Sequence[str]) -> str:
    """Asks whether the nearest of the known names was meant; empty where none is near."""
    import difflib  # takes longer than the rest of the package

    nearest = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {nearest[0]}?)" if nearest else ""


class Problems:
    """The mistakes found so far. Every check returns a value of the right type, whatever was given."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)

    def raise_if_any(self) -> None:
        if self._texts:
            raise ValueError("\n".join(self._texts))

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
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = value.tolist()
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
            return [self.integer(name, value, low, high)]
        if not value:
            self.add(f"{name}: expected at least one integer, got none")
        return [self.integer(f"{name}[{i}]", member, low, high) for i, member in enumerate(value)]

    def fraction(self, name: str, value: object) -> float:
        if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            number = float(value)
            if 0 <= number <= 1:
                return number
        self.add(f"{name}: expected a number in 0..1, got {described(value)}")
        return 0.0

    def number(self, name: str, value: object, low: int, high: int) -> float:
        if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            number = float(value)
            if low <= number <= high:
                return number
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
