"""A batch sampler: the packs of a plan for torch's DataLoader, and for what is built on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch.utils.data import Sampler

from packsim._iterations import Iterations
from packsim._micro_batch import MicroBatch
from packsim._rank_schedule import RankSchedule
from packsim.torch.plan_state import PlanState, checked_epoch
from packsim.torch.ranks import checked, rank_and_size


class PlanSampler(Sampler[Any]):
    """The micro-batches of one epoch of a plan, for one process.

    Goes into a DataLoader as `batch_sampler`. It behaves as torch's DistributedSampler does: iterating it
    again gives the same epoch again, until `set_epoch()`. Every process gets the same number of
    micro-batches in every iteration; where it has nothing to train, empty ones.

    Parameters
    ----------
    plan : Plan, RepackedPlan or ShardedPlan
    rank, world_size : int, optional
        By default those of torch.distributed where it is initialised, else of the environment's RANK and
        WORLD_SIZE, else 0 of 1.

    Raises
    ------
    ValueError
        Where the plan does not fit on this many processes; see RankSchedule.
    """

    def __init__(self, plan: Iterations, rank: int | None = None, world_size: int | None = None) -> None:
        self._set_up([RankSchedule(plan, *rank_and_size(rank, world_size))])

    @classmethod
    def for_all_ranks(cls, plan: Iterations, world_size: int) -> PlanSampler:
        """Turn by turn the micro-batch of rank 0, 1, ..., for loaders that deal batches out themselves.

        `accelerate.prepare()` gives batch i to process i % n: so each gets its own. It must not make batches
        even, which they are: `DataLoaderConfiguration(even_batches=False)`.
        """
        _, world_size = checked(0, world_size)
        sampler = cls.__new__(cls)
        sampler._set_up([RankSchedule(plan, rank, world_size) for rank in range(world_size)])
        return sampler

    def _set_up(self, schedules: list[RankSchedule]) -> None:
        if schedules[0].plan.n_iterations == 0:
            raise ValueError(
                "plan: expected at least one iteration, got none: all samples were left out, or packs were "
                'too few for an iteration and last_iteration "drop" left them out'
            )
        self._schedules = schedules
        self.schedule = schedules[0]  # that of this process; of rank 0 for a sampler of all ranks
        self._start = PlanState.start_of(schedules[0])
        self._drawn = self._start
        self._n_turns: tuple[int, int] | None = None  # (epoch, turns of it), the last asked for

    @property
    def sampler(self) -> PlanSampler:
        """Itself: accelerate and Lightning call `set_epoch()` of the sampler in a batch sampler."""
        return self

    @property
    def epoch(self) -> int:
        """That the next iteration over the sampler gives."""
        return self._start.epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch of the plan. Beyond its last one it begins again: epoch modulo `plan.n_epochs`."""
        epoch = checked_epoch(epoch)
        # A state that was loaded stays where it is in its own epoch.
        if epoch != self._start.epoch:
            self._start = self._drawn = PlanState.start_of(self.schedule, epoch)

    def __iter__(self) -> Iterator[MicroBatch]:
        place = self._drawn = self._start
        self._start = PlanState.start_of(self.schedule, place.epoch)
        iterations = self.schedule.iterations_of_epoch(place.epoch)
        for iteration in iterations[place.iteration :]:
            turns = list(zip(*(schedule.turns(iteration) for schedule in self._schedules), strict=True))
            for turns_of_ranks in turns[place.turn :]:
                place = place.after(len(turns), len(iterations))
                for index, turn in enumerate(turns_of_ranks):
                    if index + 1 == len(turns_of_ranks):
                        self._drawn = place
                    yield turn.micro_batch_or_empty()

    def __len__(self) -> int:
        """Micro-batches of the epoch, from its beginning."""
        if self._n_turns is None or self._n_turns[0] != self.epoch:
            iterations = self.schedule.iterations_of_epoch(self.epoch)
            self._n_turns = self.epoch, sum(map(self.schedule.n_turns, iterations))
        return self._n_turns[1] * len(self._schedules)

    def state_dict(self) -> dict[str, Any]:
        """Where the sampler is. Workers of a DataLoader draw ahead of the loop: see PlanLoader."""
        return self._drawn.to_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict()` was taken: the next iteration over the sampler begins there.

        Raises
        ------
        ValueError
            See `PlanState.from_dict()`.
        """
        self._start = self._drawn = PlanState.from_dict(state, self.schedule)
