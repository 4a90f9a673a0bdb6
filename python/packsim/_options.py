"""The options of strategies: their names, types and ranges, from the core's table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from packsim import _core
from packsim._arguments import Problems, nearest_hint
from packsim._strategies import Strategy

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    class Options(TypedDict, total=False):
        """Beside `seed`, what strategies may be told; each reads those that its row names."""

        shuffle: bool
        rounds: int
        threshold_tokens: int
        max_samples_per_pack: int
        batch_samples: int
        padded_batches: bool
        packer: str
        greedy_fill: bool
        linear_weight_tokens: int
        outlier_queues: int
        outlier_threshold_tokens: int
        micro_batch_tokens: int
        batch_tokens: int
        samples_per_iteration: int


@cache
def _rows() -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in _core.options()}


def check_options(
    strategy: Strategy, given: Mapping[str, object], problems: Problems
) -> dict[str, bool | int | str]:
    """The given options as the core takes them; mistakes go to `problems`."""
    read = [name for name in strategy.options if name != "seed"]
    checked: dict[str, bool | int | str] = {}
    for name, value in given.items():
        if name not in read:
            problems.add(_not_read(strategy, name, read))
            continue
        row = _rows()[name]
        if row["kind"] == "integer":
            checked[name] = problems.integer(name, value, row["low"], row["high"])
        elif row["kind"] == "boolean":
            checked[name] = problems.boolean(name, value)
        else:
            checked[name] = problems.word(name, value, row["words"])
    if checked.get("batch_tokens") and checked.get("samples_per_iteration"):
        problems.add("samples_per_iteration: expected no samples_per_iteration beside batch_tokens")
    return checked


def _not_read(strategy: Strategy, name: str, read: list[str]) -> str:
    options = ", ".join(read) if read else "none"
    hint = nearest_hint(name, read)
    return f"{name}: expected an option that {strategy.name} reads{hint}, which are: {options}"
