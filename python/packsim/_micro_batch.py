"""What a data-parallel rank trains at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from packsim._plan import PlanGroup


@dataclass(frozen=True, eq=False, kw_only=True)
class MicroBatch:
    """A pack in its place: a sequence of sample indices, with all that training them needs.

    Attributes
    ----------
    iteration : int
        Of the plan.
    round : int
        A GPU trains its packs of an iteration in the order of their rounds.
    first_gpu : int
        The pack is on the GPUs from here on, as many as `group.n_gpus`.
    group : PlanGroup
        Its pack length, SP degree and recomputed layers.
    after_barrier : bool
        The plan has all GPUs wait for each other before this round.
    samples : ndarray of uint32 (in streams and of a ShardedPlan: uint64), shape (n_pieces,)
        Indices of the data set, in the order of the pack.
    starts_tokens, tokens : ndarray of int32, shape (n_pieces,)
        Which part of each sample: whole ones start at 0.
    loss_tokens : ndarray of int32, shape (n_pieces,)
        Tokens of each piece that have loss.
    weight : float
        What the loss of each token is multiplied by, after division by its sample's `loss_tokens` where
        `weight_per_sample`. The sum over all tokens of all packs of the iteration, on all GPUs, is the loss.
    is_last : bool
        The process that has it steps behind it. Of the turns of a process (RankSchedule, PlanSampler); always
        False in `Plan.micro_batches()`, which are of no process.
    """

    iteration: int = 0
    round: int = 0
    first_gpu: int = 0
    group: PlanGroup
    after_barrier: bool = False
    samples: NDArray[np.uint32] | NDArray[np.uint64]
    starts_tokens: NDArray[np.int32]
    tokens: NDArray[np.int32]
    loss_tokens: NDArray[np.int32]
    weight: float = 0.0
    weight_per_sample: bool = False
    is_last: bool = False

    @property
    def n_tokens(self) -> int:
        """The tokens of the data, padding not counted."""
        return int(self.tokens.sum(dtype=np.int64))

    def token_weights(self) -> NDArray[np.float64]:
        """Shape (n_pieces,): what the loss of each token of a piece is multiplied by."""
        if not self.weight_per_sample:
            return np.full(len(self.samples), self.weight)
        weights = np.zeros(len(self.samples))
        np.divide(self.weight, self.loss_tokens, out=weights, where=self.loss_tokens > 0)
        return weights

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> int:
        return int(self.samples[index])

    def __iter__(self) -> Iterator[int]:
        return iter(self.samples.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MicroBatch) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.iteration, self.round, self.first_gpu))

    def _key(self) -> tuple[Any, ...]:
        arrays = (self.samples, self.starts_tokens, self.tokens, self.loss_tokens)
        place = (self.iteration, self.round, self.first_gpu, self.group, self.after_barrier)
        return (*place, self.weight, self.weight_per_sample, *(array.tobytes() for array in arrays))
