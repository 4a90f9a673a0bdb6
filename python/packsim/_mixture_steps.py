"""Optimizer steps whose packs are drawn from a mixture: the same on all ranks, without any exchange."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._arguments import Problems
from packsim._balance import dealt_in_rounds
from packsim._micro_batch import MicroBatch
from packsim._mixing_policies import groups_of, numbers_of
from packsim._mixture import Mixture
from packsim._mixture_place import MixturePlace, WaitingDraws
from packsim._normalisers import Normaliser, StepLoss, pack_weight
from packsim._plan import PlanGroup
from packsim._stream_packer import StreamPacker

_MOST_SHOWN = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureMicroBatch(MicroBatch):
    """The micro-batch of a mixture.

    `samples` are indices of the data set, `iteration` is the optimizer step, `round` counts the micro-batches
    of the rank in it, and `first_gpu` is the rank.

    Attributes
    ----------
    arms : ndarray of uint32, shape (n_pieces,)
        Which arm each sample was drawn from: an index of `Mixture.arms`.
    draws : ndarray of int64, shape (n_pieces,)
        The number of each sample's draw, from 0.
    truncated_tokens : int
        Cut off over-long samples.
    """

    arms: NDArray[np.uint32]
    draws: NDArray[np.int64]
    truncated_tokens: int


@dataclass(frozen=True, eq=False)
class DrawnSamples:
    """What draws can be of.

    Attributes
    ----------
    lengths_tokens, loss_tokens : ndarray of int32, shape (n_samples,)
        Whole lengths; and the tokens with loss of what a pack has of each sample.
    left_out : ndarray of bool, shape (n_samples,)
        Samples that are in no pack.
    """

    lengths_tokens: NDArray[np.int32]
    loss_tokens: NDArray[np.int32]
    left_out: NDArray[np.bool_]


class MixtureStep:
    """The packs of one optimizer step, in the order in which ranks take them."""

    def __init__(
        self,
        step: int,
        packs: Sequence[NDArray[np.int64]],
        waiting: WaitingDraws,
        data: DrawnSamples,
        normaliser: Normaliser,
        capacity_tokens: int,
    ) -> None:
        """waiting: the draws of the packs, and others."""
        self.step = step
        self.draws = np.concatenate(packs)
        self.samples, self.arms, self.left = waiting.taken(self.draws)
        self.lengths_tokens = data.lengths_tokens[self.samples]
        self.tokens = np.minimum(self.lengths_tokens, capacity_tokens)
        self.loss_tokens = data.loss_tokens[self.samples]
        self._bounds = np.cumsum([0, *map(len, packs)])
        self._normaliser = normaliser
        self._group = PlanGroup(capacity_tokens, n_packs=len(packs))
        self._loss_tokens_of_pack = self._sums(self.loss_tokens)
        self._samples_of_pack = self._sums(self.loss_tokens > 0)  # with loss
        # All ranks have equally many packs, so what they weigh does not depend on who has which.
        self._loss = StepLoss(
            n_packs=(len(packs),),
            loss_tokens=(int(self._loss_tokens_of_pack.sum()),),
            n_samples=(int(self._samples_of_pack.sum()),),
        )

    def _sums(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Returns the sum of each pack; none of them is empty."""
        return np.add.reduceat(values, self._bounds[:-1], dtype=np.int64)

    def of_rank(self, rank: int, world_size: int) -> list[MixtureMicroBatch]:
        """The micro-batches of a rank, those that cost most first. Packs are a multiple of ranks."""
        lengths = self.tokens.astype(np.int64)
        costs = self._sums(lengths * (_core.linear_weight_tokens + lengths))
        own = dealt_in_rounds(costs, world_size)[rank::world_size].tolist()
        return [self._micro_batch(pack, rank, round, round == len(own) - 1) for round, pack in enumerate(own)]

    def _micro_batch(self, pack: int, rank: int, round: int, is_last: bool) -> MixtureMicroBatch:
        inside = slice(int(self._bounds[pack]), int(self._bounds[pack + 1]))
        tokens = self.tokens[inside]
        n_loss_tokens, n_samples = int(self._loss_tokens_of_pack[pack]), int(self._samples_of_pack[pack])
        return MixtureMicroBatch(
            iteration=self.step,
            round=round,
            first_gpu=rank,
            group=self._group,
            samples=self.samples[inside],
            starts_tokens=np.zeros(len(tokens), dtype=np.int32),
            tokens=tokens,
            loss_tokens=self.loss_tokens[inside],
            weight=pack_weight(self._normaliser, self._loss, 0, n_loss_tokens, n_samples),
            weight_per_sample=self._normaliser.per_sample,
            is_last=is_last,
            arms=self.arms[inside],
            draws=self.draws[inside],
            truncated_tokens=int((self.lengths_tokens[inside] - tokens).sum()),
        )


@dataclass(eq=False)
class MixtureSteps:
    """Draws and packs step after step. What comes depends on the place and on the arguments alone.

    A step's samples are drawn when its packs are missing, a window at most at once, with the probabilities of
    that step. Samples that the packer holds, and packs that wait for a later step, stay over an update.
    `place` is behind the steps so far.
    """

    mixture: Mixture
    packer: StreamPacker
    data: DrawnSamples
    packs_per_step: int
    normaliser: Normaliser

    def __post_init__(self) -> None:
        n_arms = sum(self.mixture.n_groups)
        row = _history_row(self.mixture, 0, None)
        self.place = MixturePlace(
            step=0,
            mixture=self.mixture.state_dict(),
            packer=self.packer.state_dict(),
            ready=(),
            waiting=WaitingDraws.of([], [], []),
            trained_of_arm=(0,) * n_arms,
            dropped_of_arm=(0,) * n_arms,
            truncated_samples=0,
            trained_after_update=0,
            history=(row,),
        )

    def go_to(self, place: MixturePlace) -> None:
        """Go on from a place. ValueError for one of other arguments; the place is then the old one."""
        before = self.place
        try:
            self.mixture.load_state_dict(place.mixture)
            self.packer.load_state_dict(place.packer)
        except ValueError:
            self.mixture.load_state_dict(before.mixture)
            self.packer.load_state_dict(before.packer)
            raise
        self.place = place

    def next_step(self) -> MixtureStep:
        """The packs of the next step; the place is then behind them."""
        before = self.place
        waiting, ready = before.waiting, deque(before.ready)
        dropped = np.array(before.dropped_of_arm)
        draws_anew = len(ready) < self.packs_per_step
        while len(ready) < self.packs_per_step:
            waiting, left_out = self._drawn(before.step, waiting, ready)
            dropped += left_out
        packs = [ready.popleft() for _ in range(self.packs_per_step)]
        capacity_tokens = self.packer.setting.capacity_tokens
        step = MixtureStep(before.step, packs, waiting, self.data, self.normaliser, capacity_tokens)
        n_arms = len(before.trained_of_arm)
        trained = np.array(before.trained_of_arm) + np.bincount(step.arms, minlength=n_arms)
        self.place = replace(
            before,
            step=before.step + 1,
            mixture=self.mixture.state_dict() if draws_anew else before.mixture,
            packer=self.packer.state_dict() if draws_anew else before.packer,
            ready=tuple(ready),
            waiting=step.left,
            trained_of_arm=tuple(trained.tolist()),
            dropped_of_arm=tuple(dropped.tolist()),
            truncated_samples=before.truncated_samples
            + int(np.count_nonzero(step.lengths_tokens > capacity_tokens)),
            trained_after_update=before.trained_after_update
            + int(np.count_nonzero(step.draws < before.draws_before_update)),
        )
        return step

    def _drawn(
        self, step: int, waiting: WaitingDraws, ready: deque[NDArray[np.int64]]
    ) -> tuple[WaitingDraws, NDArray[np.int64]]:
        """Draw and pack a window: what waits now, and how many draws of each arm are left out."""
        first = self.mixture.n_draws
        samples, arms = self.mixture.draw(self.packer.room_samples, step)
        packs = self.packer.push(self.data.lengths_tokens[samples])
        ready.extend(pack.astype(np.int64) for pack in packs)
        left_out = self.data.left_out[samples]
        is_in = np.flatnonzero(~left_out)
        n_arms = len(self.place.trained_of_arm)
        return (
            waiting.with_more(first + is_in, samples[is_in], arms[is_in]),
            np.bincount(arms[left_out], minlength=n_arms),
        )

    def update(self, rewards: tuple[Any, Any] | None) -> None:
        """Update the mixture before the next step. rewards: of subsets and groups, or None."""
        given = _as_rows(self.mixture, rewards)
        if given is None:
            self.mixture.update()
        else:
            self.mixture.update(given["subsets"], given["groups"])
        row = _history_row(self.mixture, self.place.step, given)
        self.place = replace(
            self.place, mixture=self.mixture.state_dict(), history=(*self.place.history, row)
        )


def _as_rows(mixture: Mixture, rewards: tuple[Any, Any] | None) -> dict[str, Any] | None:
    """Returns rewards as JSON has them. ValueError for what are no rewards."""
    if rewards is None:
        return None
    with Problems() as problems:
        if not isinstance(rewards, (tuple, list)) or len(rewards) != 2:
            problems.add(f"measure: expected (subset_rewards, group_rewards), got {type(rewards).__name__}")
            problems.raise_if_any()
        subsets = numbers_of("measure: subset_rewards", rewards[0], mixture.names, problems)
        groups = None
        if rewards[1] is not None:
            groups = groups_of("measure: group_rewards", rewards[1], mixture.names, problems)
    return {"subsets": subsets, "groups": groups}


def _history_row(mixture: Mixture, step: int, rewards: dict[str, Any] | None) -> dict[str, Any]:
    """What the policy "recorded" takes, with the rewards that led to it."""
    probabilities = mixture.probabilities(step)
    return {
        "step": step,
        "subsets": probabilities.subsets.tolist(),
        "groups": [group.tolist() for group in probabilities.groups],
        "rewards": rewards,
        "n_draws": mixture.n_draws,
    }


def drawn_samples(
    lengths_tokens: NDArray[np.int32],
    loss_tokens: NDArray[np.int32] | None,
    mixture: Mixture,
    packer: StreamPacker,
    problems: Problems,
) -> DrawnSamples:
    """What the mixture draws from; mistakes go to `problems`."""
    setting = packer.setting
    n = len(lengths_tokens)
    if n != mixture.n_samples:
        problems.add(f"lengths_tokens: expected {mixture.n_samples}, one for each sample, got {n}")
        problems.raise_if_any()
    is_long, is_empty = lengths_tokens > setting.capacity_tokens, lengths_tokens == 0
    if setting.over_long == "error" and is_long.any():
        what = f"samples of at most {setting.capacity_tokens} tokens, or over_long"
        problems.add(f'lengths_tokens: expected {what}="drop" or "truncate", got {_some(is_long)}')
    if setting.empty == "error" and is_empty.any():
        problems.add(f"lengths_tokens: expected samples with tokens, got {_some(is_empty)}")
    left_out = np.zeros(n, dtype=bool)
    if setting.over_long == "drop":
        left_out |= is_long
    if setting.empty == "drop":
        left_out |= is_empty
    for arm, samples in enumerate(mixture.arms):
        if left_out[samples].all():
            # Its draws would train nothing, and a step of such draws would never end.
            problems.add(f"lengths_tokens: expected a sample that fits in arm {arm}, got none")
    most = np.maximum(np.minimum(lengths_tokens, setting.capacity_tokens) - 1, 0)
    if loss_tokens is None:
        loss_tokens = most
    elif len(loss_tokens) != n:
        problems.add(f"loss_tokens: expected {n}, one for each sample, got {len(loss_tokens)}")
    elif ((loss_tokens > most) & ~left_out).any():
        what = "at most one less than the tokens that a pack has of a sample"
        problems.add(f"loss_tokens: expected {what}, got more for {_some((loss_tokens > most) & ~left_out)}")
    return DrawnSamples(lengths_tokens, loss_tokens, left_out)


def _some(mask: NDArray[np.bool_]) -> str:
    places = np.flatnonzero(mask)
    names = ", ".join(map(str, places[:_MOST_SHOWN].tolist()))
    return f"{len(places)} that are not: sample {names}{', ...' if len(places) > _MOST_SHOWN else ''}"
