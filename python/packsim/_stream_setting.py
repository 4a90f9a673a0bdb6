"""How a stream is packed: the arguments of StreamPacker, checked, and told apart from those of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from packsim import _core
from packsim._arguments import Problems
from packsim._options import check_options, check_seed
from packsim._pack import EMPTY
from packsim._states import check_same_setting
from packsim._strategies import find_strategy

if TYPE_CHECKING:
    from typing_extensions import Required

    from packsim._option_types import Options

    class StreamArguments(Options, total=False):
        """The arguments of StreamPacker, for those who hand them on."""

        strategy: Required[str]
        capacity_tokens: Required[int]
        window_samples: Required[int]
        over_long: Literal["error", "drop", "truncate"]
        empty: Literal["drop", "keep", "error"]
        carry_below_fraction: float
        most_carries: int
        seed: int


_OVER_LONG = ("error", "drop", "truncate")
_MOST_WINDOW_SAMPLES = 2**32 - 1
_MOST_CARRIES = 2**31 - 1
_OF_WHOLE_DATA_SETS = ("extra_sizes", "extra_capacity", "group_of")


@dataclass(frozen=True)
class StreamSetting:
    """All that decides which packs a stream gives."""

    strategy: str
    capacity_tokens: int
    window_samples: int
    over_long: str
    empty: str
    carry_below_fraction: float
    most_carries: int
    options: Mapping[str, bool | int | float | str]  # the seed among them

    def leaves_out(self, length_tokens: int) -> bool:
        """Whether a sample of that length is in no pack."""
        if length_tokens == 0:
            return self.empty == "drop"
        return self.over_long == "drop" and length_tokens > self.capacity_tokens

    def packer(self, state: Mapping[str, Any] | None = None) -> _core.StreamPacker:
        try:
            return _core.StreamPacker(**asdict(self), state=state)
        except ValueError as error:
            # The core has the plural.
            raise ValueError(str(error).replace("capacities_tokens[0]", "capacity_tokens", 1)) from None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def check_same(self, given: object) -> None:
        """ValueError names every difference to the setting that a state was written with."""
        check_same_setting(self.to_dict(), given, "the setting of a stream")


def checked_setting(
    strategy: object, seed: object, options: Mapping[str, object], **given: object
) -> StreamSetting:
    """The setting of what StreamPacker is given. ValueError names all mistakes."""
    row = find_strategy(strategy)
    problems = Problems()

    def integer(name: str, low: int, high: int) -> int:
        return problems.integer(name, given[name], low, high)

    for name in _OF_WHOLE_DATA_SETS:
        if name not in options:
            continue
        problems.add(f"{name}: expected none for a stream, whose samples have lengths only; pack() takes it")
    read = {name: value for name, value in options.items() if name not in _OF_WHOLE_DATA_SETS}
    checked_options = check_options(row, read, problems)
    checked_options["seed"] = check_seed(seed, problems)
    setting = StreamSetting(
        strategy=row.name,
        capacity_tokens=integer("capacity_tokens", 1, _core.longest_capacity_tokens),
        window_samples=integer("window_samples", 1, _MOST_WINDOW_SAMPLES),
        over_long=problems.word("over_long", given["over_long"], _OVER_LONG),
        empty=problems.word("empty", given["empty"], EMPTY),
        carry_below_fraction=problems.fraction("carry_below_fraction", given["carry_below_fraction"]),
        most_carries=integer("most_carries", 0, _MOST_CARRIES),
        options=checked_options,
    )
    problems.raise_if_any()
    return setting
