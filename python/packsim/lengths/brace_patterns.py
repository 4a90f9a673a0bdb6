"""Patterns with braces, such as shard-{000000..000010}.tar, to the names that they stand for."""

from __future__ import annotations

import re
from itertools import product

from packsim.lengths.errors import LengthsError

_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_MOST_NAMES = 10_000_000


def expand_braces(pattern: str) -> list[str]:
    """All names, in the order of a shell: {first..last} counts, {one,two} lists; none are nested.

    Numbers have the digits of the longer end where one of the two starts with a zero.

    Raises
    ------
    LengthsError
        For braces that are nested or not closed, and for ranges that go down.
    """
    texts = re.split(r"\{([^{}]*)\}", pattern)
    if any(brace in text for text in texts[::2] for brace in "{}"):
        raise LengthsError(f"{pattern}: expected braces that are closed and not nested, got others")
    choices = [_choices(pattern, text) if at % 2 else [text] for at, text in enumerate(texts)]
    return ["".join(chosen) for chosen in product(*choices)]


def _choices(pattern: str, text: str) -> list[str]:
    match = _RANGE.fullmatch(text)
    if match is None:
        # {name} stands for itself, as in shells.
        return text.split(",") if "," in text else [f"{{{text}}}"]
    first, last = int(match[1]), int(match[2])
    if not first <= last < first + _MOST_NAMES:
        raise LengthsError(f"{pattern}: expected a range that rises by up to {_MOST_NAMES}, got {{{text}}}")
    ends = match.groups()
    n_digits = max(map(len, ends)) if any(len(end) > 1 and end.startswith("0") for end in ends) else 0
    return [str(number).zfill(n_digits) for number in range(first, last + 1)]
