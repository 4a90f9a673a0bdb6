"""Two processes train a mixture that measured rewards move, and go on after they were killed as if never."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mixed_training  # noqa: E402
from mixed_training import KilledRun  # noqa: E402
from process_pool import ProcessPool  # noqa: E402

N_STEPS = 200
N_KILLED_STEPS = 60


@pytest.fixture(scope="module")
def runs(two_processes: ProcessPool) -> dict[str, list[dict[str, Any]]]:
    """Of each policy, what each process did."""
    return {
        policy: two_processes.run(mixed_training.trained, policy, N_STEPS) for policy in ("hbo", "static")
    }


def updates(run: dict[str, Any]) -> list[tuple[Any, Any, Any]]:
    """Of each update what was measured, and the probabilities before and behind it."""
    history = run["history"]
    return [(row["rewards"], before, row) for before, row in itertools.pairwise(history)]


def test_processes_have_the_same_rewards_and_end_with_the_same_weights(runs: dict[str, Any]) -> None:
    for first, second in runs.values():
        assert first["history"] == second["history"]
        assert first["weights"] == second["weights"]
    assert len(updates(runs["hbo"][0])) == N_STEPS // mixed_training.STEPS_AN_UPDATE - 1


def test_every_draw_is_accounted_for(runs: dict[str, Any]) -> None:
    for first, second in runs.values():
        counts = first["counts"]
        trained = Counter(
            sample for run in (first, second) for samples in run["trained"] for sample in samples
        )
        assert counts == second["counts"]
        assert counts["trained"] == sum(trained.values())
        assert counts["dropped"] == 0
        assert counts["draws"] == counts["trained"] + counts["held"]
        # Arms are numbered subset after subset, and so are samples.
        of_subset = Counter(sample // mixed_training.N_OF_SUBSET for sample in trained.elements())
        of_arm = counts["trained_of_arm"]
        assert [of_subset[i] for i in range(3)] == [of_arm[2 * i] + of_arm[2 * i + 1] for i in range(3)]


def test_probabilities_move_towards_what_has_most_reward_for_its_share(runs: dict[str, Any]) -> None:
    for measured, before, after in updates(runs["hbo"][0]):
        actors = [(measured["subsets"], before["subsets"], after["subsets"])]
        actors += list(zip(measured["groups"], before["groups"], after["groups"], strict=True))
        for rewards, old, new in actors:
            arm = int(np.argmax(np.divide(rewards, old)))
            assert new[arm] > old[arm]


def test_probabilities_are_those_of_adam_on_the_measured_rewards(runs: dict[str, Any]) -> None:
    """As HBO's released code moves its actors: 200 steps of Adam on -sum_k R_k log p_k, moments kept."""
    history = updates(runs["hbo"][0])
    logits = torch.tensor(history[0][1]["subsets"], dtype=torch.float64).log().requires_grad_()
    adam = torch.optim.Adam([logits], lr=mixed_training.LEARNING_RATE)
    for measured, _, after in history:
        rewards = torch.tensor(measured["subsets"], dtype=torch.float64)
        for _ in range(200):
            adam.zero_grad()
            (-(rewards * torch.log_softmax(logits, 0)).sum()).backward()
            adam.step()
        np.testing.assert_allclose(after["subsets"], logits.softmax(0).tolist(), rtol=1e-9)


def test_what_is_learned_loses_its_reward(runs: dict[str, Any]) -> None:
    """Easy and hard samples are learned, noise is not: its perplexity stays nearer that of the start."""
    last, _, _ = updates(runs["hbo"][0])[-1]
    easy, hard, noise = (float(np.mean(of_subset)) for of_subset in last["groups"])
    assert max(easy, hard) < 0.2 < 0.3 < noise
    for run, _ in runs.values():
        (easy_before, hard_before, _), (easy_after, hard_after, noise_after) = run["losses"]
        assert easy_after < 0.3 * easy_before and hard_after < 0.3 * hard_before
        assert noise_after > 3


def test_gradients_of_a_packed_step_are_those_of_its_samples(two_processes: ProcessPool) -> None:
    (samples, gradient), (other_samples, other_gradient) = two_processes.run(
        mixed_training.packed_step_gradient
    )
    expected = mixed_training.unpacked_step_gradient(samples + other_samples)
    for found in (gradient, other_gradient):
        assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("kill_behind", [17, 42])  # before the first update, and between two of them
def test_a_killed_run_goes_on_as_if_it_had_not_been(
    kill_behind: int, tmp_path: Path, two_processes: ProcessPool
) -> None:
    whole, _ = two_processes.run(mixed_training.trained, "hbo", N_KILLED_STEPS)
    killed = KilledRun(tmp_path, N_KILLED_STEPS, save_every=15)
    before = killed.go_on(kill_behind)
    after = killed.go_on()
    end = after.pop()
    first = after[0]["step"]
    # What was trained behind the state that was saved last is lost, and trained again.
    assert 0 < first <= kill_behind + 1 and first % 15 == 0
    kept = [entry["samples"] for entry in before[:first]] + [entry["samples"] for entry in after]
    assert kept == whole["trained"]
    assert end["weights"] == whole["weights"]
    assert end["history"] == whole["history"]
