"""The options of strategies, as the core's records say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, Union

from packsim import _core
from packsim._arguments import Problems, not_read
from packsim._strategies import Strategy, find_strategy

OptionValue = Union[bool, int, float, str]


@dataclass(frozen=True)
class Option:
    """An option that a strategy reads, which `packsim.pack` takes as a keyword argument.

    Attributes
    ----------
    name, text
        What it is called, and a sentence of what it does.
    kind
        What it takes: "boolean", "integer", "seconds" (a number) or "word".
    default
        Its value where it is not given.
    low, high
        The range of an integer or of seconds.
    is_optional
        None stands for "not set", as `low` does.
    words
        What a word may be.
    """

    name: str
    text: str
    kind: Literal["boolean", "integer", "seconds", "word"]
    default: OptionValue
    low: int
    high: int
    is_optional: bool
    words: tuple[str, ...]


_SEED = next(row for row in _core.options() if row["name"] == "seed")
DEFAULT_SEED: int = _SEED["default"]


def check_seed(seed: object, problems: Problems) -> int:
    return problems.integer("seed", seed, _SEED["low"], _SEED["high"])


@cache
def options(strategy: str) -> tuple[Option, ...]:
    """The options that a strategy reads.

    Examples
    --------
    >>> [(option.name, option.default) for option in packsim.options("isf")]
    [('rounds', 50), ('threshold_tokens', -1), ('max_samples_per_pack', 0), ('shuffle', True), ('seed', 1024)]
    """
    name = find_strategy(strategy).name
    rows = next(row["options"] for row in _core.strategies() if row["name"] == name)
    return tuple(Option(**row) for row in rows)


def check_options(
    strategy: Strategy, given: Mapping[str, object], problems: Problems
) -> dict[str, OptionValue]:
    """The given options as the core takes them; mistakes go to `problems`."""
    read = {option.name: option for option in options(strategy.name) if option.name != "seed"}
    checked: dict[str, OptionValue] = {}
    for name, value in given.items():
        if name in read:
            checked[name] = _checked(read[name], value, problems)
        else:
            problems.add(not_read(name, strategy.name, list(read)))
    return checked


def _checked(option: Option, value: object, problems: Problems) -> OptionValue:
    if value is None and option.is_optional:
        return option.low
    if option.kind == "boolean":
        return problems.boolean(option.name, value)
    if option.kind == "integer":
        return problems.integer(option.name, value, option.low, option.high)
    if option.kind == "seconds":
        return problems.number(option.name, value, option.low, option.high)
    return problems.word(option.name, value, option.words)
