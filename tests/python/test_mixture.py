"""Mixture: draws by probabilities that rewards move, exactly resumed."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from hostile_values import HOSTILE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import packsim

SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
# Three subsets of 8, 4 and 2 samples; the first has groups of 6 and 2, the others one each.
SUBSET_OF = [0] * 8 + [1] * 4 + [2] * 2
GROUP_OF = [0] * 6 + [1] * 2 + [0] * 6
OPTIONS: dict[str, dict[str, Any]] = {
    "recorded": {
        "recorded": [
            {"step": 0, "subsets": [1, 0, 0]},
            {"step": 10, "subsets": [0, 0.25, 0.75], "groups": [[0.5, 0.5], [1], [1]]},
        ]
    }
}
POLICIES = [policy.name for policy in packsim.mixing_policies()]


def mixture_of(policy: str = "hbo", **more: Any) -> packsim.Mixture:
    return packsim.Mixture(SUBSET_OF, GROUP_OF, policy=policy, **(OPTIONS.get(policy, {}) | more))


def rewards_of(mixture: packsim.Mixture, factor: float = 1.0) -> dict[str, Any]:
    if mixture.policy.needs == "none":
        return {}
    rewards: dict[str, Any] = {"subset_rewards": [factor, 2.0, 1.0]}
    if mixture.policy.needs == "probes":
        rewards["group_rewards"] = [[1.0, 3.0 * factor], [1.0], [0.1]]
    return rewards


def test_the_table_says_what_each_policy_reads_and_needs() -> None:
    rows = {row.name: row for row in packsim.mixing_policies()}
    assert list(rows) == ["static", "temperature", "uniform", "recorded", "hbo", "odm"]
    assert rows["hbo"].options == ("temperature", "update", "learning_rate", "actor_steps", "local_updates")
    assert [row.needs for row in rows.values()] == ["none"] * 4 + ["probes", "training_loss"]
    assert all(row.summary for row in rows.values())


def test_rewards_of_2_1_1_1_move_a_quarter_as_in_the_released_code() -> None:
    # The limit of p is reward / sum = .4; 200 Adam steps of 1e-4 move a logit by at most .02.
    mixture = packsim.Mixture(["a", "b", "c", "d"])
    expected = {1: 0.2575, 5: 0.287, 15: 0.352}
    for n_updates in range(1, 16):
        mixture.update({"b": 1, "a": 2, "d": 1, "c": 1}, [[1.0]] * 4)
        if n_updates in expected:
            assert mixture.probabilities().subsets[0] == pytest.approx(expected[n_updates], abs=5e-4)
    assert mixture.n_updates == 15


def test_without_options_samples_are_equally_likely() -> None:
    probabilities = mixture_of("static").probabilities()
    assert probabilities.subsets.tolist() == pytest.approx([8 / 14, 4 / 14, 2 / 14])
    assert [group.tolist() for group in probabilities.groups] == [[0.75, 0.25], [1], [1]]
    # A temperature of 2: the roots of 8, 4 and 2 over their sum.
    roots = np.sqrt([8, 4, 2])
    found = mixture_of("temperature", temperature=2).probabilities().subsets
    assert found.tolist() == pytest.approx((roots / roots.sum()).tolist())
    infinite = mixture_of("temperature", temperature=float("inf")).probabilities().subsets
    assert infinite.tolist() == pytest.approx([1 / 3] * 3)


def test_recorded_probabilities_hold_from_their_step_on() -> None:
    mixture = mixture_of("recorded")
    assert set(mixture.draw(50, step=9).arms.tolist()) <= {0, 1}
    assert set(mixture.draw(50, step=10).arms.tolist()) == {2, 3}


def test_names_follow_in_the_order_of_their_first_sample() -> None:
    mixture = packsim.Mixture(np.array(["web", "code", "web", "math"]), policy="uniform")
    assert mixture.names == ("web", "code", "math")
    assert [arm.tolist() for arm in mixture.arms] == [[0, 2], [1], [3]]
    given_order = packsim.Mixture(["web", "code"], names=["code", "web"], policy="uniform")
    assert [arm.tolist() for arm in given_order.arms] == [[1], [0]]
    assert packsim.Mixture([0, 1], names=["x", "y"]).names == ("x", "y")
    assert packsim.Mixture([0, 1]).names == ("0", "1")
    by_name = packsim.Mixture(["a", "b"], policy="static", weights={"b": 3.0, "a": 1.0})
    assert by_name.probabilities().subsets.tolist() == [0.25, 0.75]


def test_arms_are_groups_of_subsets_one_after_another() -> None:
    mixture = mixture_of()
    assert [arm.tolist() for arm in mixture.arms] == [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9, 10, 11], [12, 13]]
    assert mixture.n_groups == (2, 1, 1) and mixture.n_samples == 14
    assert [mixture.arm(0, 1), mixture.arm(2, 0)] == [1, 3]
    samples, arms = mixture.draw(500)
    assert all(sample in mixture.arms[arm] for sample, arm in zip(samples, arms, strict=True))
    assert np.bincount(arms).tolist() == mixture.draws_of_arm
    with pytest.raises(ValueError, match="group: expected integer in 0..0, got 1"):
        mixture.probe_samples(1, 1, 5)


def test_draws_come_as_often_as_the_probabilities_say() -> None:
    mixture = mixture_of("static", weights=[1, 2, 7])
    counts = np.bincount(mixture.draw(20_000).arms)
    assert counts / 20_000 == pytest.approx([0.075, 0.025, 0.2, 0.7], abs=0.02)


def test_without_replacement_no_sample_comes_again_before_the_others_of_its_arm() -> None:
    mixture = packsim.Mixture([0] * 6, policy="static", with_replacement=False)
    passes = mixture.draw(18).samples.reshape(3, 6)
    assert all(sorted(one.tolist()) == list(range(6)) for one in passes)
    assert len({tuple(one.tolist()) for one in passes}) == 3


@pytest.mark.parametrize("with_replacement", [True, False])
def test_counts_are_those_of_the_draws(with_replacement: bool) -> None:
    mixture = mixture_of("uniform", with_replacement=with_replacement)
    draws = np.bincount(mixture.draw(11).samples, minlength=14)
    assert mixture.draws_of_sample().tolist() == draws.tolist()
    n_drawn = int((draws > 0).sum())
    assert mixture.counts() == packsim.MixtureCounts(11, n_drawn, 11 - n_drawn, 14 - n_drawn)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("with_replacement", [True, False])
def test_a_state_goes_on_exactly_through_json(policy: str, with_replacement: bool) -> None:
    def went_on(mixture: packsim.Mixture) -> Any:
        found = []
        for step in range(30, 40, 5):
            mixture.update(**rewards_of(mixture, factor=1 / 3))
            found.append([array.tolist() for array in mixture.draw(29, step)])
        return found, mixture.state_dict(), mixture.probe_samples(0, 1, 4).tolist()

    mixture = mixture_of(policy, with_replacement=with_replacement)
    for step in range(3):
        mixture.draw(7, step)
        mixture.update(**rewards_of(mixture))
    state = json.loads(json.dumps(mixture.state_dict()))
    assert state == mixture.state_dict()
    resumed = mixture_of(policy, with_replacement=with_replacement)
    resumed.load_state_dict(state)
    copies = [resumed, copy.deepcopy(mixture), pickle.loads(pickle.dumps(mixture))]
    expected = went_on(mixture)
    assert all(went_on(other) == expected for other in copies)


def test_draws_do_not_depend_on_how_they_are_asked_for() -> None:
    whole, parts = mixture_of(), mixture_of()
    expected = whole.draw(100).samples.tolist()
    assert [sample for n in (1, 0, 60, 39) for sample in parts.draw(n).samples.tolist()] == expected
    assert mixture_of(seed=1).draw(100).samples.tolist() != expected


def test_probes_change_with_updates_and_count_as_no_draws() -> None:
    mixture = mixture_of()
    probes = mixture.probe_samples(0, 0, 20)
    assert set(probes.tolist()) <= set(range(6))
    assert mixture.probe_samples(0, 0, 20).tolist() == probes.tolist()
    assert mixture.probe_samples(0, 0, 20, purpose=1).tolist() != probes.tolist()
    mixture.update(**rewards_of(mixture))
    assert mixture.probe_samples(0, 0, 20).tolist() != probes.tolist()
    assert mixture.n_draws == 0


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 5},
        {"with_replacement": False},
        {"learning_rate": 1e-3},
        {"group_of": None},
        {"names": ["a", "b", "c"]},
        {"policy": "uniform"},
    ],
)
def test_the_state_of_another_mixture_is_refused(other: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"group_of": GROUP_OF}
    mixture = packsim.Mixture(SUBSET_OF, **arguments)
    mixture.draw(5)
    before = mixture.state_dict()
    with pytest.raises(
        ValueError, match=r"state.hash: expected .* of this mixture's arms, policy and options"
    ):
        mixture.load_state_dict(packsim.Mixture(SUBSET_OF, **(arguments | other)).state_dict())
    assert mixture.state_dict() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "state.version: expected 1, got 2"),
        ({"n_draws": 6}, "add up to n_draws"),
        ({"n_draws": "5"}, "state.n_draws: expected integer"),
        ({"draws_of_arm": [5]}, "draws of 4 arms"),
        ({"draws_of_arm": [5, -1, 0, 0]}, r"state.draws_of_arm\[1\]"),
        ({"draws_of_arm": None}, "state.draws_of_arm: expected a list"),
        ({"policy_numbers": [1.0]}, "fewer"),
        ({"policy_numbers": ["x"]}, "state.policy_numbers: expected a list of numbers"),
    ],
)
def test_a_broken_state_is_refused_and_changes_nothing(change: dict[str, Any], message: str) -> None:
    mixture = mixture_of()
    mixture.draw(5)
    before = mixture.state_dict()
    with pytest.raises(ValueError, match=message):
        mixture.load_state_dict(before | change)
    assert mixture.state_dict() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "hbo2"}, r"policy: expected one of static.*\(did you mean hbo\?\), got 'hbo2'"),
        ({"smoothing": 0.5}, "smoothing: expected an option that hbo reads, which are: temperature, update"),
        ({"update": "adam"}, "update: expected one of all_arms, reinforce, got 'adam'"),
        ({"learning_rate": 0}, "learning_rate: expected a number above 0 and up to 1, got 0"),
        ({"temperature": -1}, "temperature: expected a number above 0"),
        ({"actor_steps": 0}, "actor_steps: expected integer in 1..1048576, got 0"),
        ({"subset_of": [0, 2] * 7}, "subset_of: expected a sample in subset 1, got none"),
        ({"subset_of": [0, -1]}, "subset_of: expected integers in 0..2147483647, got 1 .*: sample 1 has -1"),
        ({"subset_of": [], "group_of": None}, "subset_of: expected at least one sample"),
        ({"group_of": [0]}, "group_of: expected one group for each of 14 samples, got 1"),
        ({"group_of": [1] * 14}, "group_of: expected a sample in group 0 of subset 0, got none"),
        ({"names": ["a", "b"]}, "names: expected 3, one for each subset, got 2"),
        ({"names": ["a", "a", "b"]}, "names: expected different texts"),
        ({"policy": "static", "weights": [1, 2]}, "weights: expected 3 numbers, one for each subset, got 2"),
        (
            {"policy": "static", "weights": {"0": 1}},
            "weights: expected one for each subset, got none for 1, 2",
        ),
        ({"policy": "odm", "smoothing": 1}, "smoothing: expected a number below 1"),
        ({"policy": "recorded"}, "recorded: expected probabilities from step 0 on"),
        ({"policy": "recorded", "recorded": [3]}, r"recorded\[0\]: expected a mapping"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"subset_of": SUBSET_OF, "group_of": GROUP_OF} | arguments
    with pytest.raises(ValueError, match=message):
        packsim.Mixture(given.pop("subset_of"), **given)


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(ValueError) as caught:
        packsim.Mixture([0.5], update="x", learning_rate=5, seed=-1)
    text = str(caught.value)
    assert all(name in text for name in ("subset_of", "update", "learning_rate", "seed"))


@pytest.mark.parametrize(
    ("policy", "rewards", "message"),
    [
        ("hbo", {}, "subset_rewards: expected those of all subsets for hbo, got None"),
        (
            "hbo",
            {"subset_rewards": [1, 1, 1]},
            "group_rewards: expected those of all groups for hbo, got None",
        ),
        ("hbo", {"subset_rewards": [1, 1]}, "subset_rewards: expected 3 numbers"),
        ("hbo", {"subset_rewards": [1, 1, float("nan")]}, "subset_rewards: expected finite numbers"),
        ("hbo", {"subset_rewards": [1, 1, -1], "group_rewards": [[1, 1], [1], [1]]}, "at least 0"),
        ("hbo", {"subset_rewards": [1, 1, 1], "group_rewards": [[1], [1], [1]]}, "those of 2 groups, got 1"),
        ("odm", {"subset_rewards": [1, 1, 1], "group_rewards": [[1, 1]]}, "group_rewards"),
        ("uniform", {"subset_rewards": [1, 1, 1]}, "subset_rewards: expected None, as uniform reads none"),
    ],
)
def test_rewards_that_do_not_fit_change_nothing(policy: str, rewards: dict[str, Any], message: str) -> None:
    mixture = mixture_of(policy)
    before = mixture.state_dict()
    with pytest.raises(ValueError, match=message):
        mixture.update(**rewards)
    assert mixture.state_dict() == before


ARGUMENTS = ["subset_of", "group_of", "names", "policy", "with_replacement", "seed", "temperature", "update",
             "learning_rate", "actor_steps", "local_updates", "weights", "smoothing", "recorded"]  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(ARGUMENTS), HOSTILE, min_size=1, max_size=2), st.sampled_from(POLICIES)
)
@SETTINGS
def test_hostile_arguments_are_refused_or_work(hostile: dict[str, Any], policy: str) -> None:
    given: dict[str, Any] = {"subset_of": SUBSET_OF, "policy": policy} | OPTIONS.get(policy, {}) | hostile
    try:
        mixture = packsim.Mixture(given.pop("subset_of"), **given)
    except ValueError as error:
        assert any(name in str(error) for name in [*ARGUMENTS, "sample"])
    else:
        assert len(mixture.draw(3).samples) == 3


@given(HOSTILE, HOSTILE)
@SETTINGS
def test_hostile_rewards_draws_and_scores_are_refused_or_work(first: Any, second: Any) -> None:
    mixture = mixture_of()
    for call in (
        lambda: mixture.update(first, second),
        lambda: mixture.draw(first, second),
        lambda: mixture.probe_samples(first, second, 2),
        lambda: mixture.probabilities(first),
        lambda: packsim.quantile_groups(first, second),
        lambda: mixture.load_state_dict({**mixture.state_dict(), "policy_numbers": first}),
    ):
        try:
            call()
        except ValueError as error:
            assert str(error)


def test_groups_of_scores_are_nearly_equal_parts() -> None:
    # 7 samples in 3 groups: 3, 2 and 2, of which the first has the smallest scores.
    scores = np.array([5, 1, 4, 1, 9, 3, 8])
    assert packsim.quantile_groups(scores, 3).tolist() == [1, 0, 1, 0, 2, 0, 2]
    with pytest.raises(ValueError, match="n_groups: expected 1 to 7"):
        packsim.quantile_groups(scores, 8)
    with pytest.raises(ValueError, match="scores: expected finite numbers, got .*nan for sample 1"):
        packsim.quantile_groups([1.0, float("nan")], 1)


def test_threads_share_a_mixture_without_losing_draws() -> None:
    mixture = mixture_of()
    found: list[list[int]] = []

    def draws() -> None:
        for _ in range(50):
            found.append(mixture.draw(20).samples.tolist())

    threads = [threading.Thread(target=draws) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = mixture_of().draw(4000).samples.tolist()
    assert sorted(sample for part in found for sample in part) == sorted(expected)
    assert mixture.n_draws == 4000


def test_names_without_samples_and_samples_without_a_name_are_refused() -> None:
    with pytest.raises(ValueError, match="names: expected subsets that have samples, got 'math'"):
        packsim.Mixture(["web", "code"], names=["web", "math", "code"])
    with pytest.raises(ValueError, match="subset_of: expected names of `names`, got 'code'"):
        packsim.Mixture(["web", "code"], names=["web"])
