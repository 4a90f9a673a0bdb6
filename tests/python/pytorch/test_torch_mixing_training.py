"""Two processes train a mixture that measured rewards move, and go on after they were killed as if never."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mixed_training  # noqa: E402
from mixed_training import KilledRun  # noqa: E402
from process_pool import ProcessPool  # noqa: E402

N_STEPS = 160
N_KILLED_STEPS = 60


@pytest.fixture(scope="module")
def runs(two_processes: ProcessPool) -> dict[str, list[dict[str, Any]]]:
    """Of each policy, what each process did."""
    return {
        policy: two_processes.run(mixed_training.trained, policy, N_STEPS) for policy in ("hbo", "static")
    }


def test_processes_draw_the_same_and_end_with_the_same_weights(runs: dict[str, Any]) -> None:
    for first, second in runs.values():
        for what in ("draws", "log", "weights", "probabilities"):
            assert first[what] == second[what]


def test_every_draw_is_accounted_for(runs: dict[str, Any]) -> None:
    for run, _ in runs.values():
        trained = Counter(sample for draws in run["draws"] for sample in draws)
        n_draws = N_STEPS * mixed_training.SAMPLES_A_STEP
        assert sum(trained.values()) == n_draws
        assert run["of_sample"] == [trained[sample] for sample in range(len(run["of_sample"]))]
        expected = (n_draws, len(trained), n_draws - len(trained), len(run["of_sample"]) - len(trained))
        assert run["counts"] == expected


def test_probabilities_move_towards_what_has_most_reward_for_its_share(runs: dict[str, Any]) -> None:
    log = runs["hbo"][0]["log"]
    assert len(log) == N_STEPS // mixed_training.STEPS_AN_UPDATE - 1
    for entry in log:
        actors = [(entry["subset_rewards"], entry["before"]["subsets"], entry["after"]["subsets"])]
        of_groups = (entry["group_rewards"], entry["before"]["groups"], entry["after"]["groups"])
        actors += list(zip(*of_groups, strict=True))
        for rewards, before, after in actors:
            arm = int(np.argmax(np.divide(rewards, before)))
            assert after[arm] > before[arm]


def test_probabilities_are_those_of_adam_on_the_measured_rewards(runs: dict[str, Any]) -> None:
    """As HBO's released code moves its actors: 200 steps of Adam on -sum_k R_k log p_k, moments kept."""
    log = runs["hbo"][0]["log"]
    logits = torch.tensor(log[0]["before"]["subsets"], dtype=torch.float64).log().requires_grad_()
    adam = torch.optim.Adam([logits], lr=mixed_training.LEARNING_RATE)
    for entry in log:
        rewards = torch.tensor(entry["subset_rewards"], dtype=torch.float64)
        for _ in range(200):
            adam.zero_grad()
            (-(rewards * torch.log_softmax(logits, 0)).sum()).backward()
            adam.step()
        np.testing.assert_allclose(entry["after"]["subsets"], logits.softmax(0).tolist(), rtol=1e-9)


def test_what_is_learned_loses_its_reward(runs: dict[str, Any]) -> None:
    """Easy and hard samples are learned, noise is not: its perplexity stays near that of the start."""
    last = runs["hbo"][0]["log"][-1]["group_rewards"]
    easy, hard, noise = (float(np.mean(of_subset)) for of_subset in last)
    assert max(easy, hard) < 0.2 < 0.4 < noise
    for run, _ in runs.values():
        (easy_before, hard_before, _), (easy_after, hard_after, noise_after) = run["losses"]
        assert easy_after < 0.3 * easy_before and hard_after < 0.3 * hard_before
        assert noise_after > 3


def test_gradients_of_a_packed_step_are_those_of_its_samples(two_processes: ProcessPool) -> None:
    expected = mixed_training.unpacked_step_gradient(24)
    for found in two_processes.run(mixed_training.packed_step_gradient, 24):
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
    kept = [entry["draws"] for entry in before[:first]] + [entry["draws"] for entry in after]
    assert kept == whole["draws"]
    assert end["weights"] == whole["weights"]
    assert end["probabilities"] == whole["probabilities"]
    assert end["log"] == [entry for entry in whole["log"] if entry["step"] >= first]
