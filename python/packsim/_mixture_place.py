"""Where in its draws a mixture's training is: what checkpoints keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import Problems, described
from packsim._states import MOST, list_of_integers


class WaitingDraws(NamedTuple):
    """Draws that are not trained yet, ascending.

    Attributes
    ----------
    draws : ndarray of int64
        Their numbers, counted from 0.
    samples, arms : ndarray of uint32
        Of each.
    """

    draws: NDArray[np.int64]
    samples: NDArray[np.uint32]
    arms: NDArray[np.uint32]

    @classmethod
    def of(cls, draws: Any, samples: Any, arms: Any) -> WaitingDraws:
        return cls(np.array(draws, np.int64), np.array(samples, np.uint32), np.array(arms, np.uint32))

    def with_more(self, draws: Any, samples: Any, arms: Any) -> WaitingDraws:
        """Later ones."""
        return WaitingDraws(
            np.concatenate([self.draws, draws]),
            np.concatenate([self.samples, samples]),
            np.concatenate([self.arms, arms]),
        )

    def taken(self, draws: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.uint32], WaitingDraws]:
        """Samples and arms of some of them, in their order; and those that are left."""
        places = np.searchsorted(self.draws, draws)
        if not np.array_equal(np.take(self.draws, places, mode="clip"), draws):
            raise RuntimeError("mixture: expected packs of draws that wait, got others")  # a sample was lost
        is_left = np.ones(len(self.draws), dtype=bool)
        is_left[places] = False
        left = WaitingDraws(self.draws[is_left], self.samples[is_left], self.arms[is_left])
        return self.samples[places], self.arms[places], left


@dataclass(frozen=True, eq=False)
class MixturePlace:
    """What training has had, and what is drawn for later steps. It never changes.

    Attributes
    ----------
    step
        The next one.
    mixture, packer
        Their states.
    ready
        Packs that wait for their step: the numbers of their draws.
    waiting
        The draws that are not trained yet: those of `ready`, and those that the packer holds.
    trained_of_arm, dropped_of_arm
        Draws of each arm that are trained, and that are in no pack.
    truncated_samples
        Trained samples that were cut short.
    trained_after_update
        Trained samples that were drawn before the update that came last when they were trained.
    history
        A row for the beginning and for each update: see `MixtureLoader.history`.
    """

    step: int
    mixture: Mapping[str, Any]
    packer: Mapping[str, Any]
    ready: tuple[NDArray[np.int64], ...]
    waiting: WaitingDraws
    trained_of_arm: tuple[int, ...]
    dropped_of_arm: tuple[int, ...]
    truncated_samples: int
    trained_after_update: int
    history: tuple[Mapping[str, Any], ...]

    @property
    def draws_before_update(self) -> int:
        """How many draws there were at the last update; 0 before the first one."""
        return int(self.history[-1]["n_draws"])

    @property
    def held_of_arm(self) -> tuple[int, ...]:
        return tuple(np.bincount(self.waiting.arms, minlength=len(self.trained_of_arm)).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Returns what JSON has of the place."""
        return {
            "step": self.step,
            "mixture": dict(self.mixture),
            "packer": dict(self.packer),
            "ready": [pack.tolist() for pack in self.ready],
            "waiting": {name: values.tolist() for name, values in self.waiting._asdict().items()},
            "counts": {
                "trained_of_arm": list(self.trained_of_arm),
                "dropped_of_arm": list(self.dropped_of_arm),
                "truncated_samples": self.truncated_samples,
                "trained_after_update": self.trained_after_update,
            },
            "history": [dict(row) for row in self.history],
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], arm_of: Any) -> MixturePlace:
        """ValueError for what `to_dict()` did not give for arms like these.

        arm_of: ndarray of int, shape (n_samples,).
        """
        problems = Problems()
        n_arms = int(arm_of.max()) + 1
        mixture, packer = (_mapping(problems, "state", state, name) for name in ("mixture", "packer"))
        rows = _mapping(problems, "state", state, "waiting")
        draws, samples, arms = (
            list_of_integers(problems, "state.waiting", rows, name) for name in ("draws", "samples", "arms")
        )
        ready = state.get("ready")
        if not isinstance(ready, list) or not all(isinstance(pack, list) and pack for pack in ready):
            problems.add(f"state.ready: expected lists of draws, got {described(ready)}")
            ready = []
        counts = _mapping(problems, "state", state, "counts")
        trained, dropped = (
            list_of_integers(problems, "state.counts", counts, name)
            for name in ("trained_of_arm", "dropped_of_arm")
        )
        numbers = {
            name: problems.integer(f"state.counts.{name}", counts.get(name), 0, MOST)
            for name in ("truncated_samples", "trained_after_update")
        }
        step = problems.integer("state.step", state.get("step"), 0, MOST)
        history = _history(problems, state.get("history"))
        problems.raise_if_any()
        if not len(draws) == len(samples) == len(arms) or any(
            sample >= len(arm_of) or arm_of[sample] != arm for sample, arm in zip(samples, arms, strict=False)
        ):
            problems.add("state.waiting: expected samples of their arms, got others")
        held = packer.get("held")
        held_draws = held.get("samples") if isinstance(held, Mapping) else None
        known = [*(held_draws if isinstance(held_draws, list) else []), *(d for pack in ready for d in pack)]
        if (
            len(set(draws)) != len(draws)
            or sorted(draws) != draws
            or sorted(known, key=str) != sorted(draws, key=str)
        ):
            problems.add(
                "state.waiting: expected the draws of `ready` and those that the packer holds, got others"
            )
        if len(trained) != n_arms or len(dropped) != n_arms:
            problems.add(
                f"state.counts: expected those of {n_arms} arms, got {len(trained)} and {len(dropped)}"
            )
        problems.raise_if_any()
        place = cls(
            step=step,
            mixture=mixture,
            packer=packer,
            ready=tuple(np.array(pack, dtype=np.int64) for pack in ready),
            waiting=WaitingDraws.of(draws, samples, arms),
            trained_of_arm=tuple(trained),
            dropped_of_arm=tuple(dropped),
            history=tuple(history),
            **numbers,
        )
        place._check_sums()
        return place

    def _check_sums(self) -> None:
        """ValueError unless every draw is trained, held or dropped."""
        rows = zip(self.trained_of_arm, self.held_of_arm, self.dropped_of_arm, strict=True)
        found = [sum(row) for row in rows]
        if found != self.mixture.get("draws_of_arm"):
            expected = f"{self.mixture.get('draws_of_arm')} draws of the arms, as the mixture has"
            raise ValueError(f"state.counts: expected {expected}, got {found} trained, held and dropped")


def _mapping(problems: Problems, place: str, state: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = state.get(name)
    if isinstance(value, Mapping):
        return value
    problems.add(f"{place}.{name}: expected a mapping, got {described(value)}")
    return {}


def _history(problems: Problems, rows: Any) -> list[Mapping[str, Any]]:
    names = {"step", "subsets", "groups", "rewards", "n_draws"}
    if (
        isinstance(rows, list)
        and rows
        and all(isinstance(row, Mapping) and names <= set(row) for row in rows)
    ):
        for i, row in enumerate(rows):
            problems.integer(f"state.history[{i}].step", row["step"], 0, MOST)
            problems.integer(f"state.history[{i}].n_draws", row["n_draws"], 0, MOST)
        return list(rows)
    problems.add(f"state.history: expected rows of probabilities, got {described(rows)}")
    return []
