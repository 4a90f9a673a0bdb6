"""The C++ part: the packing core, with arguments that the package has checked. No interface for users."""

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

version: str
longest_capacity_tokens: int

def strategies() -> list[dict[str, Any]]: ...
def options() -> list[dict[str, Any]]: ...
def to_int32(lengths_tokens: NDArray[Any]) -> NDArray[np.int32]: ...
def pack(
    lengths_tokens: NDArray[np.int32],
    *,
    strategy: str,
    capacities_tokens: Sequence[int],
    over_long: str,
    empty: str,
    window_samples: int,
    options: Mapping[str, bool | int | str],
    n_gpus: int,
    tokens_per_iteration: int,
    sp_degrees: Sequence[int],
) -> Packing: ...

@final
class Packing:
    @property
    def counts(self) -> dict[str, int]: ...
    @property
    def n_groups(self) -> int: ...
    def statistics(self) -> dict[str, Any]: ...
    def offsets(self, group: int) -> NDArray[np.uint32]: ...
    def items(self, group: int) -> NDArray[np.uint32]: ...
    def pieces(self) -> NDArray[np.void]: ...
    def placed(self) -> NDArray[np.void]: ...
    def iterations(self) -> NDArray[np.void]: ...
