"""Batches of a plan, and where in the plan the loop is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch.utils.data import DataLoader

from packsim._arguments import Problems
from packsim._iterations import Iterations
from packsim._rank_schedule import RankSchedule
from packsim.torch.collator import PackCollator
from packsim.torch.dataset import FetchedPack, MapStyleDataset, PlanDataset
from packsim.torch.packed_batch import PackedBatch
from packsim.torch.plan_state import PlanState, checked_epoch
from packsim.torch.ranks import rank_and_size
from packsim.torch.sampler import PlanSampler

# What the plan decides.
_NOT_OPTIONS = ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last", "collate_fn", "in_order")


class PlanLoader:
    """The batches of one process, and a place in the plan that checkpoints keep.

    Iterating goes on from the place to the end of its epoch, and leaves the loader at the beginning of the
    next one, so `for epoch in range(n): for batch in loader` trains n epochs. A batch is counted when the
    loop gets it, whatever workers have fetched ahead.

    Parameters
    ----------
    plan : Plan, RepackedPlan or ShardedPlan
    dataset
        Map-style; samples in the order of the lengths that the plan was made of.
    collator : callable, optional
        From a FetchedPack to a PackedBatch; by default `PackCollator(plan)`.
    rank, world_size : int, optional
        As for PlanSampler.
    num_workers : int
    **options
        Others of torch's DataLoader, such as pin_memory or prefetch_factor.

    Raises
    ------
    ValueError
        Where dataset and plan are not of the same size, the plan does not fit on the processes, or an option
        is one that the plan decides.
    """

    def __init__(
        self,
        plan: Iterations,
        dataset: MapStyleDataset,
        collator: Callable[[FetchedPack], PackedBatch] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        num_workers: int = 0,
        **options: Any,
    ) -> None:
        mistakes = [name for name in _NOT_OPTIONS if name in options]
        if mistakes:
            raise ValueError(f"options: expected none that the plan decides, got {', '.join(mistakes)}")
        self._sampler = PlanSampler(plan, *rank_and_size(rank, world_size))
        self.plan = plan
        self.schedule: RankSchedule = self._sampler.schedule  # the turns of this process
        self._place = PlanState.start_of(self.schedule)
        self._n_iterators = 0
        collate: Callable[[Any], PackedBatch] = collator or PackCollator(plan)
        takes_arrays = isinstance(collate, PackCollator)
        self._batches: DataLoader[Any] = DataLoader(
            PlanDataset(dataset, plan, as_arrays=takes_arrays),
            batch_sampler=self._sampler,
            collate_fn=collate,
            num_workers=num_workers,
            **options,
        )

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._place.epoch

    @property
    def steps_done(self) -> int:
        """Whole iterations that the loop has got, of all epochs."""
        return self._place.epoch * self.plan.iterations_per_epoch + self._place.iteration

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch; nothing where the place is in it, as after `load_state_dict()`."""
        epoch = checked_epoch(epoch)
        if epoch != self._place.epoch:
            self._go_to(PlanState.start_of(self.schedule, epoch))

    def __iter__(self) -> Iterator[PackedBatch]:
        """The batches from here to the end of the epoch.

        Raises
        ------
        RuntimeError
            Where an iterator is asked on after a newer one has begun, or the loader has gone to another
            place: it would give batches twice, or undo that.
        """
        self._n_iterators += 1
        own = self._n_iterators
        place = self._place
        self._sampler.load_state_dict(place.to_dict())
        batches = iter(self._batches)
        iterations = self.schedule.iterations_of_epoch(place.epoch)
        for iteration in iterations[place.iteration :]:
            n_turns = self.schedule.n_turns(iteration)
            for turn in range(place.turn, n_turns):
                check_newest(own, self._n_iterators)
                batch: PackedBatch = next(batches)
                batch.is_last = turn + 1 == n_turns
                place = self._place = place.after(n_turns, len(iterations))
                yield batch

    def __len__(self) -> int:
        """Batches of the epoch, from its beginning."""
        self._sampler.set_epoch(self._place.epoch)
        return len(self._sampler)

    def steps(self) -> Iterator[Iterator[PackedBatch]]:
        """Yields for each optimizer step its batches, from here to the end of the epoch.

        Raises
        ------
        RuntimeError
            Where the loop goes on to the next step before it has taken all batches of this one.
        """
        epoch, batches = self.epoch, iter(self)
        while self.epoch == epoch:
            n_done = self.steps_done
            yield _rest_of_step(batches)
            check_step_taken(self.steps_done > n_done)

    def state_dict(self) -> dict[str, Any]:
        """What the loop has not got yet: plan, epoch, iteration, turn and number of processes.

        The same on all processes where they save behind the same micro-batch. Save behind the last one of a
        step (`batch.is_last`): gradients that are summed up inside a step are no part of a checkpoint, and
        another number of processes can go on from there.
        """
        return self._place.to_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict()` was taken, with any number of workers.

        The number of processes may be another one where the state was taken between steps.

        Raises
        ------
        ValueError
            For the state of another plan, and for that of another number of processes inside a step.
        """
        self._go_to(PlanState.from_dict(state, self.schedule))

    def _go_to(self, place: PlanState) -> None:
        self._place = place
        self._n_iterators += 1  # what iterators have fetched is of another place


def add_decided_options(problems: Problems, decides: str, options: Mapping[str, Any]) -> None:
    """Adds a mistake for each option that a loader with one iterator for all of its run decides itself."""
    for name in (*_NOT_OPTIONS, "persistent_workers"):
        if name in options:
            problems.add(f"{name}: expected none, as the {decides} decides it, got {options[name]!r}")


def check_newest(iterator: int, newest: int) -> None:
    """RuntimeError for an iterator of a loader that has gone on without it."""
    if iterator != newest:
        raise RuntimeError(
            "loader: expected its newest iterator, begun after load_state_dict() and set_epoch(), got an "
            "older one"
        )


def check_step_taken(is_taken: bool) -> None:
    if not is_taken:
        raise RuntimeError("steps: expected all batches of a step to be taken before the next step")


def _rest_of_step(batches: Iterator[PackedBatch]) -> Iterator[PackedBatch]:
    for batch in batches:
        yield batch
        if batch.is_last:
            return
