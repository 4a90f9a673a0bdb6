"""The table of mixing policies of the core, and their options."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from packsim import _core
from packsim._arguments import Problems, array_of, described, is_masked, is_number, not_read, row_named, shown
from packsim._states import MOST

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    class MixingOptions(TypedDict, total=False):
        """The options of all policies, for type checkers. Each policy reads some: `mixing_policies()`."""

        weights: Mapping[str, float] | Sequence[float] | None
        temperature: float
        update: Literal["all_arms", "reinforce"]
        learning_rate: float
        actor_steps: int
        local_updates: int
        smoothing: float
        recorded: Sequence[Mapping[str, Any]]


_MOST_STEPS_OF_ACTOR = 1 << 20
_UPDATES = ("all_arms", "reinforce")


@dataclass(frozen=True)
class MixingPolicy:
    """A way in which the probabilities of a mixture begin and move.

    Attributes
    ----------
    name
        What `packsim.Mixture` calls it.
    summary, source
        What it does, and who published it.
    needs
        What it must be told at an update. "probes": a gradient norm of every subset, and a perplexity beside
        that of the start for every group. "training_loss": the mean loss of every subset. "none": nothing.
    options
        The names of the options that it reads.
    """

    name: str
    summary: str
    source: str
    needs: Literal["none", "probes", "training_loss"]
    options: tuple[str, ...]


@cache
def mixing_policies() -> tuple[MixingPolicy, ...]:
    """Every policy, in the order in which lists show them."""
    return tuple(MixingPolicy(**row) for row in _core.mixing_policies())


def find_mixing_policy(name: object) -> MixingPolicy:
    return row_named("policy", name, mixing_policies())


def check_mixing_options(
    policy: MixingPolicy, given: Mapping[str, object], names: Sequence[str], problems: Problems
) -> dict[str, Any]:
    """The given options as the core takes them; mistakes go to `problems`. names: of the subsets."""
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name not in policy.options:
            problems.add(not_read(name, policy.name, policy.options))
        elif not (name == "weights" and value is None):
            checked[name] = _CHECKS[name](name, value, names, problems)
    return checked


def numbers_of(name: str, value: object, names: Sequence[str], problems: Problems) -> list[float]:
    """A number for each subset: a row of them, or a mapping from the names."""
    if isinstance(value, Mapping):
        value = rows_by_name(name, value, names, problems)
    row = row_of_numbers(name, value, problems)
    if row is None:
        return [1.0] * len(names)
    if len(row) != len(names):
        problems.add(f"{name}: expected {len(names)} numbers, one for each subset, got {len(row)}")
    return row


def rows_by_name(
    name: str, value: Mapping[Any, object], names: Sequence[str], problems: Problems
) -> list[Any]:
    """What a mapping has for each subset, in their order."""
    missing = [subset for subset in names if subset not in value]
    unknown = [shown(key) for key in value if key not in names]
    if missing:
        problems.add(f"{name}: expected one for each subset, got none for {', '.join(missing[:10])}")
    if unknown:
        problems.add(f"{name}: expected names of subsets, got {', '.join(unknown[:10])}")
    return [value.get(subset, 1.0) for subset in names]


def row_of_numbers(name: str, value: object, problems: Problems) -> list[float] | None:
    """Finite ones; None after a mistake."""
    array = array_of(value)
    is_row = array.dtype.kind in "iuf" and array.ndim == 1 and len(array) <= 1 << 20
    if not is_row or is_masked(value):
        problems.add(f"{name}: expected a row of numbers, got {described(value)}")
        return None
    row: list[float] = [float(number) for number in array.tolist()]
    wrong = [number for number in row if not math.isfinite(number)]
    if wrong:
        problems.add(f"{name}: expected finite numbers, got {wrong[0]}")
        return None
    return row


def _temperature(name: str, value: object, names: Sequence[str], problems: Problems) -> float:
    if isinstance(value, (float, np.floating)) and value == math.inf:
        return math.inf
    return _above_zero(name, value, 2**53, problems)


def _above_zero(name: str, value: object, most: int, problems: Problems) -> float:
    if is_number(value) and 0 < value <= most:
        return float(value)
    problems.add(f"{name}: expected a number above 0 and up to {most}, got {described(value)}")
    return 1.0


def _smoothing(name: str, value: object, names: Sequence[str], problems: Problems) -> float:
    number = problems.fraction(name, value)
    if number == 1:
        problems.add(f"{name}: expected a number below 1, got {described(value)}")
    return number


def _recorded(
    name: str, value: object, names: Sequence[str], problems: Problems
) -> list[tuple[int, list[float], list[list[float]]]]:
    """Rows of a step, the subsets' probabilities, and perhaps those of their groups."""
    if not isinstance(value, (list, tuple)) or not value:
        problems.add(f'{name}: expected rows {{"step", "subsets", "groups"}}, got {described(value)}')
        return []
    rows = []
    for i, row in enumerate(value):
        place = f"{name}[{i}]"
        if not isinstance(row, Mapping) or "step" not in row or "subsets" not in row:
            problems.add(f'{place}: expected a mapping with "step" and "subsets", got {described(row)}')
            continue
        step = problems.integer(f"{place}.step", row["step"], 0, MOST)
        subsets = numbers_of(f"{place}.subsets", row["subsets"], names, problems)
        rows.append((step, subsets, groups_of(f"{place}.groups", row.get("groups"), names, problems)))
    return rows


def groups_of(name: str, value: object, names: Sequence[str], problems: Problems) -> list[list[float]]:
    """A row of numbers for each subset; none for None."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        value = rows_by_name(name, value, names, problems)
    if isinstance(value, np.ndarray):
        value = list(value) if value.ndim == 2 else None
    if not isinstance(value, (list, tuple)):
        problems.add(f"{name}: expected a row of numbers for each subset, got {described(value)}")
        return []
    if len(value) != len(names):
        problems.add(f"{name}: expected rows of {len(names)} subsets, got {len(value)}")
        return []
    return [row_of_numbers(f"{name}[{i}]", row, problems) or [] for i, row in enumerate(value)]


_CHECKS: dict[str, Callable[[str, object, Sequence[str], Problems], Any]] = {
    "weights": numbers_of,
    "temperature": _temperature,
    "update": lambda name, value, _, problems: problems.word(name, value, _UPDATES),
    "learning_rate": lambda name, value, _, problems: _above_zero(name, value, 1, problems),
    "actor_steps": lambda name, value, _, problems: problems.integer(name, value, 1, _MOST_STEPS_OF_ACTOR),
    "local_updates": lambda name, value, _, problems: problems.integer(name, value, 1, _MOST_STEPS_OF_ACTOR),
    "smoothing": _smoothing,
    "recorded": _recorded,
}
