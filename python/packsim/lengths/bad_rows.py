"""The mistakes of data that may have millions of rows: the first ten, and how many there are."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packsim.lengths.errors import MOST_SHOWN

_MOST_CHARACTERS = 40


def describe(value: Any) -> str:
    """A value for an error text: its type, and as much of it as helps."""
    if value is None:
        return "None"
    kind = type(value).__name__
    if isinstance(value, Mapping):
        return f"{kind} with {', '.join(map(str, value)) or 'no keys'}"
    text = repr(value[: _MOST_CHARACTERS + 1]) if isinstance(value, (str, bytes)) else repr(value)
    if len(text) > _MOST_CHARACTERS:
        text = text[:_MOST_CHARACTERS] + "..."
    return f"{kind} {text}"


@dataclass
class BadRows:
    """Bad rows in the order of the data.

    `cause` is the exception behind the first row whose tokenizer raised one.
    """

    count: int = 0
    texts: list[str] = field(default_factory=list)
    cause: Exception | None = None

    def add(self, place: str, expected: str, got: str) -> None:
        self._add(f"{place}: expected {expected}, got {got}")

    def add_exception(self, place: str, error: Exception) -> None:
        if self.cause is None:
            self.cause = portable(error)
        self._add(f"{place}: expected a length from the tokenizer, got {type(error).__name__}: {error}")

    def merge(self, later: BadRows) -> None:
        self.count += later.count
        self.texts = (self.texts + later.texts)[:MOST_SHOWN]
        self.cause = self.cause or later.cause

    def message(self, n_samples: int) -> str:
        lines = list(self.texts)
        if self.count > len(lines):
            lines.append(
                f"{self.count} bad rows among the first {n_samples}; these are the first {len(lines)}"
            )
        return "\n".join(lines)

    def _add(self, text: str) -> None:
        self.count += 1
        if len(self.texts) < MOST_SHOWN:
            self.texts.append(text)


def portable(error: Exception) -> Exception:
    """The exception as it may cross to another process, its traceback as a note.

    One that cannot be pickled is replaced by a RuntimeError with its text.
    """
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickle.loads(pickle.dumps(error))
        kept: Exception = error
    except Exception:
        kept = RuntimeError(f"{type(error).__name__}: {error}")
    # Kept by pickle, as the traceback is not; shown from Python 3.11 on.
    notes = list(getattr(kept, "__notes__", ()))
    kept.__notes__ = [*notes, lines]
    return kept
