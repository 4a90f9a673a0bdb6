"""Mixture: draws of samples whose shares move."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._arguments import Problems, described, integer_in
from packsim._lengths_array import LengthsLike
from packsim._mixing_policies import (
    MixingPolicy,
    check_mixing_options,
    find_mixing_policy,
    groups_of,
    numbers_of,
)
from packsim._mixture_arms import integers_from_0, subset_numbers
from packsim._options import DEFAULT_SEED, check_seed
from packsim._states import MOST, checked_version, list_of_integers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from packsim._mixing_policies import MixingOptions

_STATE_VERSION = 1
_MOST_DRAWS_AT_ONCE = 1 << 24


class MixtureDraws(NamedTuple):
    """What was drawn, in order.

    Attributes
    ----------
    samples : ndarray of uint32, shape (n,)
        Indices of the data set. Read-only, like `arms`.
    arms : ndarray of uint32, shape (n,)
        Which arm each is from: an index of `Mixture.arms`.
    """

    samples: NDArray[np.uint32]
    arms: NDArray[np.uint32]


class MixtureProbabilities(NamedTuple):
    """The probabilities with which a draw is from each place.

    Attributes
    ----------
    subsets : ndarray of float64, shape (n_subsets,)
    groups : tuple of ndarray of float64
        Of each subset, the probabilities of its groups once the subset is chosen.
    """

    subsets: NDArray[np.float64]
    groups: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class MixtureCounts:
    """What became of the samples of a data set.

    Attributes
    ----------
    n_draws
        Each is of one sample.
    drawn_samples
        Drawn at least once.
    repeats
        Draws of samples that had been drawn before.
    never_drawn
        Samples that no draw was of.
    """

    n_draws: int
    drawn_samples: int
    repeats: int
    never_drawn: int


class Mixture:
    """Draws samples of subsets and groups by probabilities that rewards move.

    A draw chooses a subset, then one of its groups, then one of the samples there. A group of a subset is an
    arm. What is drawn depends on these arguments, and on how many draws and updates there were; so all ranks
    that make the same calls have the same draws, and a small state resumes them exactly. Calls from several
    threads wait for each other, and other Python threads run meanwhile.

    Parameters
    ----------
    subset_of : array_like of int or sequence of str, shape (n_samples,)
        The subset of each sample: numbers from 0, or names.
    group_of : array_like of int, shape (n_samples,), optional
        The group of each sample in its subset, from 0, such as those of `quantile_groups()`. By default each
        subset is one group.
    names : sequence of str, optional
        Of the subsets. By default names in the order of their first sample, and of numbers their digits.
    policy : str
        The name of one of `mixing_policies()`.
    with_replacement : bool
        Each draw of an arm is of any of its samples. Without: in a shuffled order, all of them before the
        first comes again, then in another order.
    seed : int
    **options
        Exactly what the policy reads: the `options` of its row.

    Attributes
    ----------
    names : tuple of str
        Of the subsets.
    policy : MixingPolicy
        The row of the table.
    n_samples : int
    n_groups : tuple of int
        Of each subset.

    Examples
    --------
    >>> mixture = packsim.Mixture(["web", "web", "web", "code"], policy="hbo", update="all_arms")
    >>> mixture.probabilities().subsets.round(3).tolist()
    [0.75, 0.25]
    >>> len(mixture.draw(10).samples)
    10
    """

    def __init__(
        self,
        subset_of: LengthsLike | Sequence[str],
        group_of: LengthsLike | None = None,
        *,
        names: Sequence[str] | None = None,
        policy: str = "hbo",
        with_replacement: bool = True,
        seed: int = DEFAULT_SEED,
        **options: Unpack[MixingOptions],
    ) -> None:
        self.policy: MixingPolicy = find_mixing_policy(policy)
        problems = Problems()
        subsets, self.names = subset_numbers(subset_of, names, problems)
        groups = (
            np.zeros_like(subsets) if group_of is None else integers_from_0("group_of", group_of, problems)
        )
        checked = check_mixing_options(self.policy, options, self.names, problems)
        checked["seed"] = check_seed(seed, problems)
        is_with = problems.boolean("with_replacement", with_replacement)
        problems.raise_if_any()
        self._arguments: dict[str, Any] = {
            "subset_of": subsets,
            "group_of": groups,
            "policy": self.policy.name,
            "with_replacement": is_with,
            "options": checked,
        }
        self._core = _core.Mixture(**self._arguments)
        self.n_samples = len(subsets)
        self.n_groups = tuple(self._core.n_groups())
        self._hash = _hash_of(self._arguments, self.names)

    @property
    def arms(self) -> list[NDArray[np.uint32]]:
        """The samples of each arm, ascending: group after group of the first subset, then of the next one."""
        return list(self._core.arms())

    def arm(self, subset: int, group: int) -> int:
        """The number of the arm of a subset's group."""
        with Problems() as problems:
            subset = problems.integer("subset", subset, 0, len(self.n_groups) - 1)
            group = problems.integer("group", group, 0, self.n_groups[subset] - 1)
        return sum(self.n_groups[:subset]) + group

    def probabilities(self, step: int = 0) -> MixtureProbabilities:
        """Those of the draws of an optimizer step. The step matters to the policy "recorded" alone."""
        subsets, groups = self._core.probabilities(integer_in("step", step, 0, MOST))
        return MixtureProbabilities(np.array(subsets), tuple(np.array(group) for group in groups))

    def draw(self, n: int, step: int = 0) -> MixtureDraws:
        """The next n draws, with the probabilities of that step; at most 16 777 216 at once."""
        n = integer_in("n", n, 0, _MOST_DRAWS_AT_ONCE)
        return MixtureDraws(*self._core.draw(n, integer_in("step", step, 0, MOST)))

    def probe_samples(self, subset: int, group: int, n: int, purpose: int = 0) -> NDArray[np.uint32]:
        """Samples of an arm with which to measure a reward; they count as no draws.

        n of them, with replacement; other ones for each update, and for each `purpose`.
        """
        arm = self.arm(subset, group)
        n = integer_in("n", n, 0, _MOST_DRAWS_AT_ONCE)
        return self._core.probe_samples(arm, n, integer_in("purpose", purpose, 0, MOST))

    def update(self, subset_rewards: Any = None, group_rewards: Any = None) -> None:
        """Give the policy its rewards, whose kind is `policy.needs`.

        Parameters
        ----------
        subset_rewards : sequence of float, or mapping from names, optional
            Of each subset, at least 0.
        group_rewards : sequence of sequences of float, or mapping from names, optional
            Of each group of each subset, at least 0; for policies that need "probes".

        Raises
        ------
        ValueError
            For rewards that are wrong, or missing; then nothing has changed.
        """
        with Problems() as problems:
            subsets = self._rewards(subset_rewards, problems)
            groups = groups_of("group_rewards", group_rewards, self.names, problems)
            needs_groups = self.policy.needs == "probes"
            if needs_groups and group_rewards is None:
                problems.add(f"group_rewards: expected those of all groups for {self.policy.name}, got None")
            if not needs_groups and group_rewards is not None:
                problems.add(f"group_rewards: expected None, as {self.policy.name} reads none, got some")
        self._core.update(subsets, groups)

    def _rewards(self, given: Any, problems: Problems) -> list[float]:
        is_read = self.policy.needs != "none"
        if is_read and given is not None:
            return numbers_of("subset_rewards", given, self.names, problems)
        if is_read:
            problems.add(f"subset_rewards: expected those of all subsets for {self.policy.name}, got None")
        elif given is not None:
            problems.add(f"subset_rewards: expected None, as {self.policy.name} reads none, got some")
        return []

    @property
    def n_draws(self) -> int:
        return int(self._core.state()["n_draws"])

    @property
    def n_updates(self) -> int:
        return int(self._core.state()["n_updates"])

    @property
    def draws_of_arm(self) -> list[int]:
        """How often each arm has been drawn."""
        return list(self._core.state()["draws_of_arm"])

    def draws_of_sample(self) -> NDArray[np.int64]:
        """How often each sample has been drawn.

        The draws are made again for it, since no state keeps them: some 20 ns for each.
        """
        return self._core.draws_of_sample()

    def counts(self) -> MixtureCounts:
        """What became of the samples so far; takes as long as `draws_of_sample()`."""
        return _counts_of(self._core)

    def counts_of(self, state: Mapping[str, Any]) -> MixtureCounts:
        """What had become of the samples where a state was taken; this mixture stays where it is.

        Raises
        ------
        ValueError
            As `load_state_dict()`.
        """
        other = _core.Mixture(**self._arguments)
        other.set_state(self._checked_state(state))
        return _counts_of(other)

    def state_dict(self) -> dict[str, Any]:
        """All that draws and updates have changed, as JSON has it: a mixture that loads it goes on like this.

        JSON keeps its numbers to the last digit. It has a hash of arms, policy and options.
        """
        return {"version": _STATE_VERSION, "hash": self._hash, **self._core.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where the state was taken.

        Raises
        ------
        ValueError
            For what is no state, or one of a mixture with other arms, policy or options; then nothing has
            changed.
        """
        self._core.set_state(self._checked_state(state))

    def _checked_state(self, given: object) -> dict[str, Any]:
        state = checked_version(given, _STATE_VERSION)
        if state.get("hash") != self._hash:
            what = f"expected {self._hash}, of this mixture's arms, policy and options"
            raise ValueError(f"state.hash: {what}, got {described(state.get('hash'))}")
        with Problems() as problems:
            checked: dict[str, Any] = {
                name: problems.integer(f"state.{name}", state.get(name), 0, MOST)
                for name in ("n_draws", "n_updates")
            }
            checked["draws_of_arm"] = list_of_integers(problems, "state", state, "draws_of_arm")
            numbers = state.get("policy_numbers")
            if not isinstance(numbers, list) or not all(type(number) in (int, float) for number in numbers):
                problems.add(f"state.policy_numbers: expected a list of numbers, got {described(numbers)}")
                numbers = []
        checked["policy_numbers"] = numbers
        return checked

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name != "_core"}
        return {**kept, "state": self._core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: value for name, value in state.items() if name != "state"})
        self._core = _core.Mixture(**self._arguments)
        self._core.set_state(state["state"])

    def __repr__(self) -> str:
        arms = f"{len(self.names)} subsets, {sum(self.n_groups)} arms, {self.n_samples} samples"
        return f"<Mixture by {self.policy.name}: {arms}, {self.n_draws} draws, {self.n_updates} updates>"


def _counts_of(mixture: _core.Mixture) -> MixtureCounts:
    draws = mixture.draws_of_sample()
    n_draws, n_drawn = int(draws.sum()), int(np.count_nonzero(draws))
    return MixtureCounts(n_draws, n_drawn, n_draws - n_drawn, len(draws) - n_drawn)


def _hash_of(arguments: Mapping[str, Any], names: Sequence[str]) -> str:
    """Hashes all that decides draws, and the names by which rewards are given."""
    digest = hashlib.blake2b(digest_size=8)
    rest = {name: arguments[name] for name in ("policy", "with_replacement", "options")}
    digest.update(json.dumps([rest, list(names)], sort_keys=True).encode())
    for name in ("subset_of", "group_of"):
        digest.update(arguments[name].astype("<u4").tobytes())
    return digest.hexdigest()
