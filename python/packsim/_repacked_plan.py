"""RepackedPlan: new packs in every epoch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import Problems, described
from packsim._iterations import Iterations
from packsim._micro_batch import MicroBatch
from packsim._plan import Plan, PlanGroup

# What the plans of all epochs must agree on: collators and loaders read it of the first.
_SHARED_FACTS = ("strategy", "n_gpus", "over_long", "padding", "pad_multiple_tokens", "normaliser")


class RepackedPlan(Iterations):
    """A plan that packs the samples anew in every epoch, each time in another order.

    A `Plan` trains the same packs in every epoch, so that a sample always has the same neighbours. Here,
    every epoch has a plan of its own. Strategies that shuffle make other packs of another order; those that
    sort, such as bfd, exchange samples of equal length alone, unless `window_samples` shares out the data
    set. Where epochs have not equally many iterations, the shorter ones train some of them twice.

    It takes the place of a `Plan` in PlanLoader, PlanSampler, PlanDataset and PackCollator of
    `packsim.torch` and in `packsim.trainers`; samples have the numbers that they have in the data set. Only
    the plan of the epoch that is trained is in memory.

    Parameters
    ----------
    plan_of : callable
        From the order of the samples in an epoch, int64 of shape (n_samples,), and a seed, to the plan of the
        epoch: `pack()` and `make_plan()` of the lengths in that order, with one epoch. It is called for each
        epoch here, and again where an epoch begins, and must then return the same.
    n_samples : int
    epochs : int
    seed : int
        Epoch e orders the samples with seed + e, and `plan_of` gets that seed, too.

    Attributes
    ----------
    repeated_iterations : tuple of int
        Of each epoch: so many iterations are trained twice, those that it begins with.

    Raises
    ------
    ValueError
        Where the plans are of several epochs, of other samples or without iterations, or do not agree on
        settings.
    """

    def __init__(
        self,
        plan_of: Callable[[NDArray[np.int64], int], Plan],
        *,
        n_samples: int,
        epochs: int,
        seed: int = 1024,
    ) -> None:
        with Problems() as problems:
            self._plan_of = plan_of
            self.n_samples = problems.integer("n_samples", n_samples, 0, 2**32 - 1)
            self._n_epochs = problems.integer("epochs", epochs, 1, 1 << 16)
            self._seed = problems.integer("seed", seed, 0, 2**32 - 1 - self._n_epochs)
        self._current: tuple[int, Plan, NDArray[np.int64]] | None = None
        self._hashes: list[str] = []
        n_iterations: list[int] = []
        first, _ = self._epoch(0)
        self.facts: dict[str, Any] = first.facts | {"epochs": self._n_epochs}
        self.groups: tuple[PlanGroup, ...] = first.groups
        with Problems() as problems:
            for epoch in range(self._n_epochs):
                plan, _ = self._epoch(epoch)
                self._check_epoch(plan, epoch, problems)
                self._hashes.append(plan.content_hash)
                n_iterations.append(plan.n_iterations)
        self.iterations_per_epoch = max(n_iterations)
        self.repeated_iterations = tuple(self.iterations_per_epoch - n for n in n_iterations)
        self.content_hash = hashlib.sha256(" ".join(self._hashes).encode()).hexdigest()[:16]

    def _check_epoch(self, plan: Plan, epoch: int, problems: Problems) -> None:
        place = f"plan_of: epoch {epoch}"
        if plan.n_epochs != 1:
            problems.add(f"{place}: expected a plan of one epoch, got one of {plan.n_epochs}")
        if plan.n_iterations == 0:
            problems.add(f"{place}: expected at least one iteration, got none")
        if plan.n_samples != self.n_samples:
            expected = f"expected a plan of {self.n_samples} samples"
            problems.add(f"{place}: {expected}, got one of {plan.n_samples}")
        for name in _SHARED_FACTS:
            if plan.facts[name] != self.facts[name]:
                expected = f"expected {name} {self.facts[name]!r}, as in epoch 0"
                problems.add(f"{place}: {expected}, got {plan.facts[name]!r}")
        found, expected_groups = ([replace(one, n_packs=0) for one in of.groups] for of in (plan, self))
        if found != expected_groups:
            problems.add(f"{place}: expected the groups of epoch 0, got others")

    def _epoch(self, epoch: int) -> tuple[Plan, NDArray[np.int64]]:
        """The plan of an epoch, and the samples in its order."""
        if self._current is None or self._current[0] != epoch:
            self._current = None  # let go of the last plan before the next one is made
            seed = self._seed + epoch
            # The legacy generator gives the same on all versions of numpy.
            order = np.random.RandomState(seed).permutation(self.n_samples).astype(np.int64)
            plan = self._plan_of(order, seed)
            if not isinstance(plan, Plan):
                raise ValueError(f"plan_of: expected it to return a plan, got {described(plan)}")
            if epoch < len(self._hashes) and plan.content_hash != self._hashes[epoch]:
                raise ValueError(
                    f"plan_of: expected the same plan of epoch {epoch} as before, {self._hashes[epoch]}, got "
                    f"{plan.content_hash}"
                )
            self._current = epoch, plan, order
        return self._current[1], self._current[2]

    def plan_of_epoch(self, epoch: int) -> Plan:
        """The plan of one epoch, whose samples are numbered in the order of that epoch."""
        if not 0 <= epoch < self._n_epochs:
            raise IndexError(f"epoch: expected 0..{self._n_epochs - 1}, got {epoch}")
        return self._epoch(epoch)[0]

    def _placed_in(self, iteration: int) -> tuple[int, NDArray[np.void]]:
        epoch, of_epoch = self._place(iteration)
        return self._epoch(epoch)[0]._placed_in(of_epoch)

    def _micro_batch(self, iteration: int, placed_index: int) -> MicroBatch:
        epoch, of_epoch = self._place(iteration)
        plan, order = self._epoch(epoch)
        micro_batch = plan._micro_batch(of_epoch, placed_index)
        samples = order[micro_batch.samples].astype(np.uint32)
        return replace(micro_batch, iteration=iteration, samples=samples)

    def _place(self, iteration: int) -> tuple[int, int]:
        """(epoch, iteration in it)"""
        self._check(iteration)
        epoch, of_epoch = divmod(iteration, self.iterations_per_epoch)
        n_repeated = self.repeated_iterations[epoch]
        # Repeated iterations come first, so that an iteration that is short stays the last one.
        return epoch, of_epoch if of_epoch < n_repeated else of_epoch - n_repeated

    def __repr__(self) -> str:
        where = f"{self.n_iterations} iterations in {self.n_epochs} epochs on {self.n_gpus} GPUs"
        repeated = f"{sum(self.repeated_iterations)} of them trained twice"
        return f"<RepackedPlan by {self.facts['name']}: {self.n_samples} samples, {where}, {repeated}>"
