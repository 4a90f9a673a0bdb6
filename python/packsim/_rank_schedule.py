"""What one data-parallel process trains, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import Problems
from packsim._iterations import Iterations
from packsim._micro_batch import MicroBatch
from packsim._plan import PlanGroup

# A turn without a pack has this group: nothing is shared, nothing is recomputed.
_IDLE_GROUP = PlanGroup(capacity_tokens=1)


@dataclass(frozen=True)
class Turn:
    """What a process does while every other process does its own turn of the same number.

    Attributes
    ----------
    iteration, round : int
        Of the plan.
    micro_batch : MicroBatch or None
        None: the process is idle, and trains an empty micro-batch where others wait for its gradients.
    ranks : range
        The processes that share the pack; their number is its SP degree on this many processes.
    is_last : bool
        The last turn of its iteration: the optimizer steps behind it.
    """

    iteration: int
    round: int
    micro_batch: MicroBatch | None
    ranks: range
    is_last: bool = False

    @property
    def sp_degree(self) -> int:
        return len(self.ranks)

    def micro_batch_or_empty(self) -> MicroBatch:
        """The micro-batch; of an idle process one without samples."""
        if self.micro_batch is not None:
            return replace(self.micro_batch, is_last=self.is_last)
        return MicroBatch(
            iteration=self.iteration,
            round=self.round,
            group=_IDLE_GROUP,
            samples=np.zeros(0, dtype=np.uint32),
            starts_tokens=np.zeros(0, dtype=np.int32),
            tokens=np.zeros(0, dtype=np.int32),
            loss_tokens=np.zeros(0, dtype=np.int32),
            is_last=self.is_last,
        )


class RankSchedule:
    """The turns of one process where a plan's GPUs are shared out evenly to `world_size` processes.

    A process takes `gpus_per_rank` neighbouring GPUs of the plan. In each round, the packs that lie inside a
    process come one after another, by their first GPU; a pack of more GPUs is trained by all its processes
    in the round's first turn, which is the only one they have. A round has as many turns as its busiest
    process, so all processes have the same number of turns in every iteration, and idle ones among them.

    No process waits for another for ever: a pack that several processes share has the same place in the
    turns of each, and in one turn no process has two packs. So where all have come to turn t, each group of
    processes can finish it without anybody else, and all come to turn t + 1.

    Parameters
    ----------
    plan : Plan, RepackedPlan or ShardedPlan
    rank, world_size : int
        Of the data-parallel processes, those that share a sequence among them; tensor-parallel groups and
        pipelines count as one.

    Raises
    ------
    ValueError
        Where the plan does not fit on this many processes: with what would.
    """

    def __init__(self, plan: Iterations, rank: int, world_size: int) -> None:
        with Problems() as problems:
            self.world_size = problems.integer("world_size", world_size, 1, plan.n_gpus)
            self.rank = problems.integer("rank", rank, 0, self.world_size - 1)
        if plan.n_gpus % self.world_size != 0:
            what = f"world_size: expected a divisor of the plan's {plan.n_gpus} GPUs"
            raise ValueError(f"{what}, got {self.world_size}")
        self.plan = plan
        self.gpus_per_rank = plan.n_gpus // self.world_size
        self._gpus_of_group = np.array([group.n_gpus for group in plan.groups], dtype=np.int64)
        _check_alignment(plan, self.gpus_per_rank)

    def ranks_of(self, micro_batch: MicroBatch) -> range:
        """The processes that share a pack of the plan."""
        first = micro_batch.first_gpu // self.gpus_per_rank
        return range(first, first + max(micro_batch.group.n_gpus // self.gpus_per_rank, 1))

    def turns(self, iteration: int) -> list[Turn]:
        """Returns the turns of one iteration of the plan; there are equally many on every rank."""
        first_placed, placed = self.plan._placed_in(iteration)
        first_ranks = placed["first_gpu"].astype(np.int64) // self.gpus_per_rank
        n_ranks = np.maximum(self._gpus_of_group[placed["group"]] // self.gpus_per_rank, 1)
        is_own = (first_ranks <= self.rank) & (self.rank < first_ranks + n_ranks)
        turns: list[Turn] = []
        for round_, n_turns in self._rounds(placed):
            own = np.flatnonzero(is_own & (placed["round"] == round_))
            own = own[np.argsort(placed["first_gpu"][own], kind="stable")]
            for index in own.tolist():
                ranks = range(int(first_ranks[index]), int(first_ranks[index] + n_ranks[index]))
                micro_batch = self.plan._micro_batch(iteration, first_placed + index)
                turns.append(Turn(iteration, round_, micro_batch, ranks))
            alone = range(self.rank, self.rank + 1)
            turns += [Turn(iteration, round_, None, alone)] * (n_turns - len(own))
        return turns[:-1] + [replace(turn, is_last=True) for turn in turns[-1:]]

    def n_turns(self, iteration: int) -> int:
        """How many turns `turns()` has, without making them."""
        return sum(n_turns for _, n_turns in self._rounds(self.plan._placed_in(iteration)[1]))

    def iterations_of_epoch(self, epoch: int) -> range:
        """The plan's iterations of an epoch. Epochs beyond the plan's begin again with its first one."""
        n_iterations = self.plan.iterations_per_epoch
        first = epoch % self.plan.n_epochs * n_iterations
        return range(first, first + n_iterations)

    def __iter__(self) -> Iterator[list[Turn]]:
        """Iteration after iteration, of all epochs."""
        return (self.turns(iteration) for iteration in range(self.plan.n_iterations))

    def _rounds(self, placed: NDArray[np.void]) -> list[tuple[int, int]]:
        """(round, number of its turns), ascending."""
        # Each pack counts for its first process; the others of a shared one have nothing else in the round.
        first_ranks = placed["first_gpu"] // self.gpus_per_rank
        places = placed["round"].astype(np.int64) * self.world_size + first_ranks
        busy, n_packs = np.unique(places, return_counts=True)
        n_turns: dict[int, int] = {}
        for place, n in zip(busy.tolist(), n_packs.tolist(), strict=True):
            round_ = place // self.world_size
            n_turns[round_] = max(n_turns.get(round_, 0), n)
        return list(n_turns.items())


def _check_alignment(plan: Iterations, gpus_per_rank: int) -> None:
    with Problems() as problems:
        for index, group in enumerate(plan.groups):
            degree = group.n_gpus
            if degree % gpus_per_rank != 0 and gpus_per_rank % degree != 0:
                what = f"world_size: packs of group {index} are on {degree} GPUs each, and processes take"
                fits = f"expected one of {_fitting_sizes(plan)}, got {plan.n_gpus // gpus_per_rank}"
                problems.add(f"{what} {gpus_per_rank}, so that packs would lie across their edges: {fits}")


def _fitting_sizes(plan: Iterations) -> list[int]:
    degrees = {group.n_gpus for group in plan.groups}
    return [
        plan.n_gpus // fold
        for fold in range(plan.n_gpus, 0, -1)
        if plan.n_gpus % fold == 0 and all(d % fold == 0 or fold % d == 0 for d in degrees)
    ]
