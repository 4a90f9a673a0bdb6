"""Batches that are drawn from a mixture while training goes on, and updates of the mixture between steps."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from packsim._arguments import Problems, described
from packsim._lengths_array import LengthsLike, as_lengths
from packsim._mixture import Mixture
from packsim._mixture_place import MixturePlace
from packsim._mixture_steps import MixtureMicroBatch, MixtureSteps, drawn_samples
from packsim._normalisers import find_normaliser
from packsim._states import MOST, check_same_setting, checked_version
from packsim._stream_packer import StreamPacker
from packsim.torch.collator import CollatorRules, PackCollator
from packsim.torch.dataset import FetchedPack, MapStyleDataset, PackDataset, check_map_style
from packsim.torch.loader import add_decided_options, check_newest, check_step_taken
from packsim.torch.mixing.counts import MixtureTrainingCounts, counts_at
from packsim.torch.packed_batch import PackedBatch
from packsim.torch.ranks import can_gather, gathered, rank_and_size

Measure = Callable[[int], tuple[Any, Any]]

_STATE_VERSION = 1
_MOST_PACKS = 1 << 20
_OF_DATA_LOADER = frozenset(inspect.signature(DataLoader.__init__).parameters) - {"self", "dataset"}


class MixtureLoader:
    """The batches of one rank, drawn from a mixture step after step, and a place that checkpoints keep.

    Every rank makes the same draws and the same packs, which is cheap, and loads the samples of its own packs
    alone. So the loss weights of a step are exact over all ranks without any exchange, and a step has the
    same samples and weights on any number of ranks that divides `packs_per_step`.

    Samples are drawn when the packs of a step are missing, a window at most at once, with the probabilities
    of that step. These stand still between updates. Before step s, where s is a multiple of
    `update_every_steps` above 0, all ranks call `measure(s)` and update the mixture with what it returns.
    Workers never fetch beyond the next update. Draws that the packer holds at an update are trained behind it
    and not lost; `counts` has them.

    A run is `n_steps` long. Iterating goes on from the place to its end, and a loop that was left early goes
    on where it was. A batch is counted when the loop gets it, whatever workers have fetched ahead.

    Parameters
    ----------
    dataset
        Map-style.
    mixture : packsim.Mixture
        Of the samples of the dataset, without draws or updates yet. It belongs to the loader from then on.
    lengths_tokens : array_like of int, shape (n_samples,)
    collator : callable, optional
        From a FetchedPack to a PackedBatch; by default a PackCollator of packed rows without padding. To one
        of yours, `PackCollator(CollatorRules(padding="capacity"), ...)`, the loader tells `over_long`.
    strategy, capacity_tokens, window_samples, over_long
        As `packsim.StreamPacker` has them.
    packs_per_step : int
        Of all ranks together: a multiple of their number. Each rank has equally many micro-batches.
    n_steps : int
        Optimizer steps of the run. A resumed run may have another number.
    update_every_steps : int, optional
        Needed where the policy learns.
    measure : callable, optional
        `measure(step)` gives (subset_rewards, group_rewards) as `Mixture.update()` takes them, the same on
        all ranks. It is to leave the gradients of the model as they are. Needed where the policy learns.
    rank, world_size : int, optional
        As for PlanSampler.
    num_workers : int
    loss_tokens : array_like of int, shape (n_samples,), optional
        Tokens of each sample that have loss, in the part of it that a pack has; by default all but the first.
        The first token of a sample never has.
    normaliser : str
        A name of `packsim.normalisers()`.
    group : ProcessGroup, optional
        The ranks that share the steps, where these are not all of torch.distributed.
    **options
        Others of `packsim.StreamPacker` and of torch's DataLoader.
    """

    def __init__(
        self,
        dataset: MapStyleDataset,
        mixture: Mixture,
        *,
        lengths_tokens: LengthsLike,
        collator: Callable[[FetchedPack], PackedBatch] | None = None,
        strategy: str,
        capacity_tokens: int,
        window_samples: int,
        packs_per_step: int,
        n_steps: int,
        update_every_steps: int | None = None,
        measure: Measure | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        num_workers: int = 0,
        over_long: str = "error",
        loss_tokens: LengthsLike | None = None,
        normaliser: str = "stable",
        group: Any = None,
        **options: Any,
    ) -> None:
        self.rank, self.world_size = rank_and_size(rank, world_size)
        of_loader = {name: options.pop(name) for name in list(options) if name in _OF_DATA_LOADER}
        problems = Problems()
        add_decided_options(problems, "mixture", of_loader)
        num_workers = problems.integer("num_workers", num_workers, 0, 1 << 16)
        self.n_steps = problems.integer("n_steps", n_steps, 0, MOST)
        packs = problems.integer("packs_per_step", packs_per_step, 1, _MOST_PACKS)
        if packs % self.world_size != 0:
            problems.add(f"packs_per_step: expected a multiple of {self.world_size} ranks, got {packs}")
        if mixture.n_draws or mixture.n_updates:
            got = f"{mixture.n_draws} draws and {mixture.n_updates} updates"
            problems.add(f"mixture: expected a new one, as the loader counts from its beginning, got {got}")
        self._update_every_steps = _checked_updates(mixture, update_every_steps, measure, problems)
        packing = {"capacity_tokens": capacity_tokens, "window_samples": window_samples, **options}
        packer = problems.value(lambda: StreamPacker(strategy=strategy, over_long=over_long, **packing))  # type: ignore[arg-type]
        row = problems.value(lambda: find_normaliser(normaliser))
        lengths = problems.value(lambda: as_lengths(lengths_tokens))
        given_loss = None
        if loss_tokens is not None:
            given_loss = problems.value(lambda: as_lengths(loss_tokens, "loss_tokens"))
        problems.value(lambda: check_map_style(dataset))
        problems.raise_if_any()
        assert packer is not None and row is not None and lengths is not None
        data = drawn_samples(lengths, given_loss, mixture, packer, problems)
        if len(dataset) != len(lengths):
            problems.add(f"dataset: expected {len(lengths)} samples, like lengths_tokens, got {len(dataset)}")
        problems.raise_if_any()
        self.mixture = mixture
        self._measure = measure
        self._group = group
        self.micro_batches_per_step = packs // self.world_size  # of each rank
        self._setting = {
            "packer": packer.setting.to_dict(),
            "packs_per_step": packs,
            "update_every_steps": self._update_every_steps,
            "normaliser": row.name,
            "hash_of_lengths": _hash_of(data.lengths_tokens.tobytes() + data.loss_tokens.tobytes()),
        }
        self._steps = MixtureSteps(mixture, packer, data, packs, row)
        self._arm_of = np.zeros(mixture.n_samples, dtype=np.int64)
        for arm, samples in enumerate(mixture.arms):
            self._arm_of[samples] = arm
        self._place = self._steps.place
        self._n_done = 0  # micro-batches of the step that the loop is in
        self._newest_iterator = 0
        self._collate = _told_of_truncation(collator or PackCollator(CollatorRules()), packer)
        self.dataset = dataset
        self._dataset = PackDataset(dataset, as_arrays=isinstance(self._collate, PackCollator))
        self._num_workers = num_workers
        self._options = of_loader
        self._plans = _PlannedSteps(self._steps, self.rank, self.world_size)
        self._new_batches(self._plans)  # refuses options at once

    def _new_batches(self, plans: Any) -> DataLoader[Any]:
        options: dict[str, Any] = {
            "collate_fn": self._collate,
            "num_workers": self._num_workers,
            "persistent_workers": self._num_workers > 0,  # over updates, as long as an iterator lives
            # One of its own: a training that was resumed has the random numbers of one that was not.
            "generator": torch.Generator(),
        }
        return DataLoader(self._dataset, batch_sampler=plans, **options | self._options)

    @property
    def step(self) -> int:
        """The optimizer step of the next batch: so many whole ones the loop has had."""
        return self._place.step

    steps_done = step  # by the name that PlanLoader has for it

    @property
    def history(self) -> list[dict[str, Any]]:
        """The probabilities at the beginning and behind each update, with the rewards that led to them.

        Rows of `step`, `subsets`, `groups`, `rewards` (None, or of `subsets` and `groups`) and `n_draws`, how
        many draws there were before. The policy "recorded" takes them, which draws by them again.
        """
        return [dict(row) for row in self._place.history]

    @property
    def counts(self) -> MixtureTrainingCounts:
        """What became of the draws of all ranks so far; takes some 20 ns for each draw."""
        return counts_at(self._place, self.mixture)

    def __len__(self) -> int:
        """Batches of the run, from its beginning."""
        return self.n_steps * self.micro_batches_per_step

    def __iter__(self) -> Iterator[PackedBatch]:
        """The batches from here to the end of the run.

        Raises
        ------
        RuntimeError
            Where an iterator is asked on after a newer one has begun or a state was loaded, and where ranks
            of torch.distributed have other arguments, places or rewards.
        """
        self._newest_iterator += 1
        return self._rest_of_run(self._newest_iterator)

    def _rest_of_run(self, own: int) -> Iterator[PackedBatch]:
        check_newest(own, self._newest_iterator)
        self._check_same("arguments and place", [self._setting, self._place.to_dict(), self._n_done])
        plans = self._plans = _PlannedSteps(self._steps, self.rank, self.world_size)
        batches = self._new_batches(plans)
        try:
            while self._place.step < self.n_steps:
                self._update_where_due()
                for batch in self._until_update(batches):
                    check_newest(own, self._newest_iterator)
                    self._count(batch)
                    yield batch
                    check_newest(own, self._newest_iterator)
        finally:
            # Where PyTorch collects it later, each worker is waited for for 5 s.
            workers: Any = batches._iterator
            if workers is not None:
                workers._shutdown_workers()

    def steps(self) -> Iterator[Iterator[PackedBatch]]:
        """Yields for each optimizer step its batches, from here to the end of the run.

        An update before a step comes before the loop gets the step.

        Raises
        ------
        RuntimeError
            As iterating, and where the loop goes on to the next step before it has taken all batches of this
            one.
        """
        batches = iter(self)
        own = self._newest_iterator
        while self._place.step < self.n_steps:
            check_newest(own, self._newest_iterator)
            self._update_where_due()
            step = self._place.step
            yield islice(batches, self.micro_batches_per_step - self._n_done)
            check_step_taken(self._place.step == step + 1)

    def _update_where_due(self) -> None:
        place, every = self._place, self._update_every_steps
        is_due = every is not None and place.step > 0 and place.step % every == 0
        if not is_due or place.history[-1]["step"] == place.step or self._n_done > 0:
            return
        self._steps.go_to(place)
        self._steps.update(None if self._measure is None else self._measure(place.step))
        try:
            self._check_same("rewards", self._steps.place.history[-1])
        except RuntimeError:
            self._steps.go_to(place)
            raise
        self._place = self._steps.place

    def _until_update(self, batches: DataLoader[Any]) -> Iterator[PackedBatch]:
        """The batches up to the next update."""
        self._steps.go_to(self._place)  # an iterator of before may have gone on from there
        step, every = self._place.step, self._update_every_steps
        end = self.n_steps if every is None else min(self.n_steps, (step // every + 1) * every)
        self._plans.plan(step, end, self._n_done)
        if "generator" not in self._options and batches.generator is not None:
            batches.generator.manual_seed(step * self.world_size + self.rank)
        return iter(batches)

    def _count(self, batch: PackedBatch) -> None:
        """The loop gets it."""
        self._n_done += 1
        batch.is_last = self._n_done == self.micro_batches_per_step
        if batch.is_last:
            self._place = self._plans.behind_next()
            self._n_done = 0

    def state_dict(self) -> dict[str, Any]:
        """What the loop has had, as JSON has it: the same on all ranks behind the same micro-batch.

        Save between steps, behind a batch that `is_last`: any number of ranks that divides `packs_per_step`
        can go on from there. Inside a step it is for the same number alone, and for those who keep the
        gradients that have been summed up.
        """
        inside = {"n_done": self._n_done, "world_size": self.world_size} if self._n_done else None
        return {
            "version": _STATE_VERSION,
            "setting": self._setting,
            "inside_step": inside,
            **self._place.to_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where the state was taken, with any number of workers; iterators of before cannot go on.

        Raises
        ------
        ValueError
            For what is no state, one of other arguments or of another mixture, and for one inside a step of
            another number of ranks; then nothing has changed.
        """
        place, n_done = self._checked(state)
        self._steps.go_to(self._place)
        self._steps.go_to(place)
        self._place, self._n_done = place, n_done
        self._newest_iterator += 1

    def _checked(self, given: object) -> tuple[MixturePlace, int]:
        state = checked_version(given, _STATE_VERSION)
        check_same_setting(self._setting, state.get("setting"), "the arguments of a loader")
        place = MixturePlace.from_dict(state, self._arm_of)
        inside = state.get("inside_step")
        if inside is None:
            return place, 0
        problems = Problems()
        if not isinstance(inside, Mapping):
            problems.add(f"state.inside_step: expected None or a mapping, got {described(inside)}")
            inside = {}
        n_done = problems.integer("state.inside_step.n_done", inside.get("n_done"), 1, _MOST_PACKS)
        n_ranks = problems.integer("state.inside_step.world_size", inside.get("world_size"), 1, _MOST_PACKS)
        problems.raise_if_any()
        if n_ranks != self.world_size or n_done >= self.micro_batches_per_step:
            raise ValueError(
                f"state: expected {n_ranks} ranks, got {self.world_size}: it was taken behind {n_done} "
                "micro-batches of a step; save behind the last one (batch.is_last) to go on with other ranks"
            )
        return place, n_done

    def _check_same(self, what: str, value: Any) -> None:
        """RuntimeError where ranks that can be asked would go other ways from here."""
        if self.world_size == 1 or not can_gather() or dist.get_world_size(self._group) != self.world_size:
            return
        number = int(_hash_of(json.dumps(value, sort_keys=True).encode()), 16) >> 1
        found = [row[0] for row in gathered([number], self._group)]
        if len(set(found)) > 1:
            raise RuntimeError(f"loader: expected equal {what} on all ranks, got hashes {found}")


class _PlannedSteps:
    """The batch sampler: micro-batches of a rank up to an update, and the places behind their steps."""

    def __init__(self, steps: MixtureSteps, rank: int, world_size: int) -> None:
        self._steps = steps
        self._rank = rank
        self._world_size = world_size
        self._range = range(0)
        self._n_done = 0
        self._behind: deque[MixturePlace] = deque()

    def plan(self, begin: int, end: int, n_done: int) -> None:
        """What the next iterator gives: these steps, of the first one what follows n_done micro-batches."""
        self._range, self._n_done = range(begin, end), n_done
        self._behind = deque()

    def behind_next(self) -> MixturePlace:
        """The place behind the step that the loop has had."""
        return self._behind.popleft()

    def __iter__(self) -> Iterator[MixtureMicroBatch]:
        behind, n_done = self._behind, self._n_done
        for _ in self._range:
            step = self._steps.next_step()
            behind.append(self._steps.place)
            yield from step.of_rank(self._rank, self._world_size)[n_done:]
            n_done = 0


def _checked_updates(
    mixture: Mixture, update_every_steps: int | None, measure: Measure | None, problems: Problems
) -> int | None:
    policy = mixture.policy
    learns = policy.needs != "none"
    if learns and measure is None:
        problems.add(f"measure: expected a function, as {policy.name} learns from {policy.needs}, got None")
    if not learns and measure is not None:
        problems.add(
            f"measure: expected None, as {policy.name} learns from nothing, got {described(measure)}"
        )
    if update_every_steps is None and not learns:
        return None
    return problems.integer("update_every_steps", update_every_steps, 1, MOST)


def _told_of_truncation(
    collator: Callable[[FetchedPack], PackedBatch], packer: StreamPacker
) -> Callable[[FetchedPack], PackedBatch]:
    if isinstance(collator, PackCollator) and packer.setting.over_long == "truncate":
        collator.rules = replace(collator.rules, truncates_tokens=packer.setting.capacity_tokens)
    return collator


def _hash_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
