"""Checks of arguments. All mistakes are collected, and raised together."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

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


class Named(Protocol):
    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)


def row_named(kind: str, name: object, rows: Sequence[Row]) -> Row:
    """The row of a table with that name; ValueError names the known ones. kind: what the rows are."""
    for row in rows:
        if isinstance(name, str) and row.name == name:
            return row
    names = [row.name for row in rows]
    hint = nearest_hint(name, names) if isinstance(name, str) else ""
    raise ValueError(f"{kind}: expected one of {', '.join(names)}{hint}, got {shown(name, 100)}")


def not_read(option: str, reader: str, read: Sequence[str]) -> str:
    """The mistake of an option that nothing reads."""
    names, hint = ", ".join(read) or "none", nearest_hint(option, read)
    return f"{option}: expected an option that {reader} reads{hint}, which are: {names}"


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
    # Lengths are checked before values take memory: a range and a broadcast array are small, however long
    # they are.
    try:
        return len(value) > most
    except OverflowError:  # more than 63 bits
        return True


def array_of(value: object) -> NDArray[Any]:
    """What numpy makes of it; no numbers for ragged lists, and where an __array__ of others raises."""
    try:
        return np.asarray(value)
    except Exception:
        return np.empty(0, dtype=object)


def is_masked(value: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def is_number(value: object) -> TypeGuard[float]:
    # An integer may be too large for a float.
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def integer_in(name: str, value: object, low: int, high: int) -> int:
    """The integer. ValueError for what is none of that range."""
    with Problems() as problems:
        return problems.integer(name, value, low, high)


class Problems:
    """The mistakes found so far. Every check returns a value of the right type, whatever was given.

    A `with` block raises them at its end, unless it raises another exception. error: what is raised.
    """

    def __init__(self, error: type[ValueError] = ValueError) -> None:
        self._error = error
        self._texts: list[str] = []

    def __enter__(self) -> Problems:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.raise_if_any()

    def add(self, text: str) -> None:
        self._texts.append(text)

    def add_first(self, texts: Sequence[str], most: int) -> None:
        """The first of many, and how many more there are."""
        self._texts += texts[:most]
        if len(texts) > most:
            self.add(f"and {len(texts) - most} more")

    def raise_if_any(self) -> None:
        if self._texts:
            raise self._error("\n".join(self._texts))

    @contextmanager
    def collected(self, place: str = "") -> Iterator[None]:
        """A ValueError of the block is a mistake more. place: goes before it."""
        try:
            yield
        except ValueError as error:
            self.add(f"{place}{error}")

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
        if is_number(value) and 0 <= value <= 1:
            return float(value)
        self.add(f"{name}: expected a number in 0..1, got {described(value)}")
        return 0.0

    def number(self, name: str, value: object, low: int, high: int) -> float:
        if is_number(value) and low <= value <= high:
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
