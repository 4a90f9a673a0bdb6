"""MixtureLoader: steps from a mixture that moves, the same on any number of ranks, exactly resumed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mixing_runs  # noqa: E402
import training  # noqa: E402
from mixing_runs import (  # noqa: E402
    CAPACITY_TOKENS,
    DATA,
    LENGTHS,
    LOSS_TOKENS,
    N_SAMPLES,
    PACKS_PER_STEP,
    SUBSET_OF,
    loader_of,
    measure,
    mixture_of,
    run_of_ranks,
    seen,
)
from process_pool import ProcessPool  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import weighted_loss  # noqa: E402

NORMALISERS = [row.name for row in packsim.normalisers()]


def gradient_alone(weights: dict[int, tuple[int, float]]) -> Any:
    """The sum of weight times gradient of samples, each on its own.

    weights: of each sample how often it was drawn, and the weight of a token.
    """
    alone = training.model()
    losses = []
    for sample, (n_draws, weight) in weights.items():
        ids, labels = (torch.tensor(DATA[sample][name][:CAPACITY_TOKENS])[None] for name in DATA[sample])
        if ids.shape[1] > 1 and LOSS_TOKENS[sample]:
            logits = alone(ids, torch.arange(ids.shape[1])[None])
            loss = torch.nn.functional.cross_entropy(
                logits[0, :-1], labels[0, 1:], reduction="sum", ignore_index=-100
            )
            losses.append(n_draws * weight * loss)
    sum(losses).backward()
    return training.flat_gradient(alone)


@pytest.mark.parametrize("world_size", [1, 4])
@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_a_packed_step_has_the_gradient_of_its_samples_alone(normaliser: str, world_size: int) -> None:
    loaders = [loader_of(rank, world_size, normaliser=normaliser, n_steps=6) for rank in range(world_size)]
    for steps in zip(*(loader.steps() for loader in loaders), strict=True):
        model = training.model()
        packs = []
        for step in steps:
            for batch in step:
                loss = weighted_loss(training.logits_of(model, batch), batch["labels"], batch["loss_weights"])
                loss.backward()
                packs.append([int(sample) for sample in batch.micro_batch.samples])
        assert len(packs) == PACKS_PER_STEP
        gradient = training.flat_gradient(model)
        expected = torch.zeros_like(gradient)
        n_tokens = sum(LOSS_TOKENS[sample] for pack in packs for sample in pack)
        n_samples = sum(LOSS_TOKENS[sample] > 0 for pack in packs for sample in pack)
        for pack in packs:
            of_pack = [LOSS_TOKENS[sample] for sample in pack]
            n_with_loss = sum(n > 0 for n in of_pack)
            weights = {}
            for sample, n in zip(pack, of_pack, strict=True):
                # The definitions, in the words of the table of normalisers.
                weight = (
                    n
                    and {
                        "stable": 1 / n_tokens,
                        "token_mean": 1 / PACKS_PER_STEP / sum(of_pack),
                        "sample_mean": 1 / PACKS_PER_STEP / n_with_loss / n,
                        "longalign": 1 / n_samples / n,
                        "sum": 1.0,
                    }[normaliser]
                )
                weights[sample] = (pack.count(sample), weight)
            if n_with_loss:
                expected += gradient_alone(weights)
        assert torch.linalg.norm(gradient - expected) <= 1e-5 * torch.linalg.norm(expected)


def test_distributed_processes_leave_the_gradient_of_one_process(two_processes: ProcessPool) -> None:
    gradients, others = two_processes.run(mixing_runs.distributed_gradients, 5)
    for step, found, other in zip(loader_of(n_steps=5).steps(), gradients, others, strict=True):
        model = training.model()
        for batch in step:
            loss = weighted_loss(training.logits_of(model, batch), batch["labels"], batch["loss_weights"])
            loss.backward()
        expected = training.flat_gradient(model).numpy()
        assert (found == other).all()
        assert np.linalg.norm(found - expected) <= 1e-9 * np.linalg.norm(expected)


def test_ranks_that_measure_other_rewards_are_told_and_train_no_other_steps(
    two_processes: ProcessPool,
) -> None:
    for steps, error in two_processes.run(mixing_runs.run_with_rewards_of_the_rank):
        assert steps == 4 and "expected equal rewards on all ranks, got hashes" in error
    for steps, error in two_processes.run(mixing_runs.run_with_seed_of_the_rank):
        assert steps == 0 and "expected equal arguments and place on all ranks" in error


def test_steps_are_the_same_on_any_number_of_ranks_and_workers() -> None:
    expected, state = run_of_ranks(1)
    assert len(expected) == 13 * PACKS_PER_STEP
    for world_size, num_workers in [(2, 0), (4, 0), (8, 0), (1, 2), (2, 1)]:
        found, its_state = run_of_ranks(world_size, num_workers=num_workers)
        assert found == expected
        assert its_state == state


def killed_and_resumed(seed: int) -> list[Any]:
    """A run that is killed between steps again and again, each time with other ranks and workers."""
    draw = random.Random(seed)
    found: list[Any] = []
    state: Any = None
    while state is None or state["step"] < 13:
        world_size = draw.choice([1, 2, 4])
        n_batches = draw.randint(1, 4) * PACKS_PER_STEP // world_size
        batches, state = run_of_ranks(
            world_size, n_batches, state=state, num_workers=draw.choice([0, 0, 0, 1, 2])
        )
        state = json.loads(json.dumps(state))
        found += batches
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_killed_run_goes_on_exactly_on_other_ranks_and_workers(seed: int) -> None:
    expected, _ = run_of_ranks(1)
    assert killed_and_resumed(seed) == expected


def test_a_state_does_not_depend_on_what_workers_have_fetched_ahead() -> None:
    for n_batches in (PACKS_PER_STEP, 4 * PACKS_PER_STEP, 5 * PACKS_PER_STEP):
        _, expected = run_of_ranks(1, n_batches)
        _, found = run_of_ranks(1, n_batches, num_workers=2)
        assert found == expected


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_process_that_is_killed_goes_on_exactly(num_workers: int, tmp_path: Path) -> None:
    whole, _ = run_of_ranks(1)
    found: list[Any] = []
    n_kills = 0
    while len(found) < len(whole):
        before = len(found)
        # Behind so many batches; the state that was saved last has fewer.
        n_batches = 19 if n_kills < 3 else None
        n_kills += mixing_runs.run_that_is_killed(tmp_path, num_workers, n_batches)
        found += mixing_runs.batches_of_the_state(tmp_path)
        assert len(found) > before
    assert n_kills == 3
    assert json.loads(json.dumps(sorted(found))) == json.loads(json.dumps(whole))


def test_steps_are_those_of_iterating_and_a_state_behind_an_update_has_it() -> None:
    whole = [seen(batch) for batch in loader_of()]
    measured = []

    def noted(step: int) -> Any:
        measured.append(step)
        return measure(step)

    loader = loader_of(measure=noted)
    found, states = [], []
    for step in loader.steps():
        states.append(json.loads(json.dumps(loader.state_dict())))  # before the first batch of the step
        found += [seen(batch) for batch in step]
    assert found == whole and measured == [4, 8, 12]
    resumed = loader_of(measure=noted)
    resumed.load_state_dict(states[8])
    assert [seen(batch) for batch in resumed] == whole[8 * PACKS_PER_STEP :]
    assert measured == [4, 8, 12, 12]


def test_inside_a_step_the_same_number_of_ranks_goes_on_exactly() -> None:
    whole = [seen(batch) for batch in loader_of()]
    for n_batches in (3, 4 * PACKS_PER_STEP + 5):
        _, state = run_of_ranks(1, n_batches)
        resumed = loader_of()
        resumed.load_state_dict(json.loads(json.dumps(state)))
        assert [seen(batch) for batch in resumed] == whole[n_batches:]
        with pytest.raises(ValueError, match="expected 1 ranks, got 2: it was taken behind"):
            loader_of(0, 2).load_state_dict(state)


def test_a_loop_that_was_left_early_goes_on_where_it_was() -> None:
    whole = [seen(batch) for batch in loader_of()]
    loader, found = loader_of(num_workers=1), []
    for n_batches in (3, 2, 11, 40, 1000):
        for batch in loader:
            found.append(seen(batch))
            n_batches -= 1
            if n_batches == 0:
                break
    assert found == whole


@pytest.mark.parametrize("num_workers", [0, 1])
def test_random_numbers_of_training_are_left_alone(num_workers: int) -> None:
    before = torch.random.get_rng_state()
    for _ in zip(range(40), loader_of(num_workers=num_workers), strict=False):
        pass
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("over_long", ["drop", "truncate"])
@pytest.mark.parametrize("policy", ["hbo", "static"])
def test_every_draw_is_trained_held_or_dropped(policy: str, over_long: str) -> None:
    loss = np.where(LENGTHS > CAPACITY_TOKENS, 0, LOSS_TOKENS) if over_long == "drop" else LOSS_TOKENS
    loader = loader_of(mixture=mixture_of(policy), over_long=over_long, loss_tokens=loss)
    arm_of = loader._arm_of
    drawn: list[int] = []
    for step in loader.steps():
        for batch in step:
            drawn += batch.micro_batch.samples.tolist()
        counts = loader.counts
        assert counts.trained == len(drawn)
        assert counts.draws == counts.trained + counts.held + counts.dropped
        assert list(counts.trained_of_arm) == np.bincount(arm_of[drawn], minlength=8).tolist()
        by_arm = [counts.trained_of_arm, counts.held_of_arm, counts.dropped_of_arm]
        assert np.sum(by_arm, axis=0).tolist() == list(counts.draws_of_arm)
        # One window is held at most, and the packs of another wait.
        assert counts.held <= 48
    is_long = LENGTHS[drawn] > CAPACITY_TOKENS
    assert counts.truncated == is_long.sum()
    assert (counts.dropped > 0) == (over_long == "drop") and (counts.truncated > 0) != (over_long == "drop")
    # Every draw of the mixture, again, without the loader; not one is missing.
    again = mixture_of(policy)
    every: list[int] = []
    rows = loader.history[1:] + [{"n_draws": counts.draws, "rewards": None}]
    for row in rows:
        every += again.draw(row["n_draws"] - len(every), 0).samples.tolist()
        if row["rewards"]:
            again.update(row["rewards"]["subsets"], row["rewards"]["groups"])
    assert counts.draws == len(every)
    assert counts.repeats == len(every) - len(set(every))
    assert counts.never_drawn == N_SAMPLES - len(set(every))


def test_probabilities_stand_still_between_updates_and_draws_follow_them() -> None:
    steps_of_measure = []

    def noted(step: int) -> Any:
        steps_of_measure.append((step, loader.step, loader.mixture.n_draws))
        return measure(step)

    loader = loader_of(measure=noted, num_workers=1)
    for _ in loader:
        pass
    history = loader.history
    assert [row["step"] for row in history] == [0, 4, 8, 12]
    # Nothing of a later step is drawn before the update, whatever workers fetch ahead.
    assert steps_of_measure == [(row["step"], row["step"], row["n_draws"]) for row in history[1:]]
    mixture = mixture_of()
    for row in history:
        if row["rewards"]:
            mixture.update(row["rewards"]["subsets"], row["rewards"]["groups"])
        probabilities = mixture.probabilities()
        assert row["subsets"] == probabilities.subsets.tolist()
        assert row["groups"] == [group.tolist() for group in probabilities.groups]
    assert loader.counts.trained_after_update > 0


def test_a_recorded_history_draws_by_the_same_probabilities() -> None:
    loader = loader_of()
    list(loader)
    history = loader.history
    replayed = mixture_of("recorded", recorded=history)
    for row in history:
        assert replayed.probabilities(row["step"]).subsets.tolist() == pytest.approx(row["subsets"])


def test_a_run_may_be_made_longer() -> None:
    expected, _ = run_of_ranks(1)
    short = loader_of(n_steps=5)
    found = [seen(batch) for batch in short]
    longer = loader_of()
    longer.load_state_dict(short.state_dict())
    assert sorted(found + [seen(batch) for batch in longer]) == expected


def test_batches_say_where_they_are() -> None:
    loader = loader_of(1, 2)
    assert len(loader) == 13 * loader.micro_batches_per_step == 13 * PACKS_PER_STEP // 2
    for n, batch in enumerate(loader):
        micro_batch = batch.micro_batch
        assert (micro_batch.iteration, micro_batch.round) == divmod(n, 4)
        assert batch.is_last == micro_batch.is_last == (n % 4 == 3)
        assert micro_batch.first_gpu == 1
        names = [loader.mixture.names[arm // 2] for arm in micro_batch.arms.tolist()]
        assert names == [SUBSET_OF[sample] for sample in micro_batch.samples.tolist()]
        assert loader.step == (n + 1) // 4


def test_loops_that_skip_batches_or_go_on_after_a_state_was_loaded_are_refused() -> None:
    loader = loader_of()
    steps = loader.steps()
    next(next(steps))
    with pytest.raises(RuntimeError, match="all batches of a step to be taken"):
        next(steps)
    loader = loader_of()
    batches = iter(loader)
    next(batches)
    loader.load_state_dict(loader_of().state_dict())
    with pytest.raises(RuntimeError, match="expected its newest iterator"):
        next(batches)


def test_a_measurement_that_fails_changes_nothing() -> None:
    fails = True

    def sometimes(step: int) -> Any:
        if fails:
            raise OSError("no GPU")
        return measure(step)

    loader = loader_of(measure=sometimes)
    found = []
    with pytest.raises(OSError):
        for batch in loader:
            found.append(seen(batch))
    fails = False
    assert found + [seen(batch) for batch in loader] == [seen(batch) for batch in loader_of()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"packs_per_step": 7}, "packs_per_step: expected a multiple of 2 ranks, got 7"),
        ({"measure": None}, "measure: expected a function, as hbo learns from probes, got None"),
        ({"update_every_steps": None}, "update_every_steps: expected integer"),
        ({"mixture": mixture_of("static"), "measure": measure}, "measure: expected None, as static learns"),
        ({"over_long": "error"}, "lengths_tokens: expected samples of at most 64 tokens"),
        ({"lengths_tokens": [3]}, "lengths_tokens: expected 160, one for each sample, got 1"),
        ({"loss_tokens": LENGTHS}, "loss_tokens: expected at most one less"),
        ({"loss_tokens": [1]}, "loss_tokens: expected 160"),
        ({"capacity_tokens": 1, "over_long": "drop"}, "expected a sample that fits in arm 0, got none"),
        ({"dataset": DATA[:5]}, "dataset: expected 160 samples"),
        ({"batch_size": 3}, "batch_size: expected none, as the mixture decides it"),
        ({"pin_memry": True}, "pin_memry"),
        ({"normaliser": "mean"}, "normaliser: expected one of"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loader_of(0, 2, **arguments)


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(ValueError) as caught:
        loader_of(
            0, 2, packs_per_step=3, strategy="bdf", normaliser="mean", lengths_tokens=[0.5], dataset={3}
        )
    names = ["packs_per_step", "strategy", "normaliser", "lengths_tokens", "dataset"]
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == names


def test_a_mixture_that_has_drawn_is_refused() -> None:
    mixture = mixture_of()
    mixture.draw(3)
    with pytest.raises(ValueError, match="mixture: expected a new one.*got 3 draws and 0 updates"):
        loader_of(mixture=mixture)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 0}, "state.version"),
        ({"step": -1}, "state.step"),
        ({"ready": [[10**6]]}, "state.waiting: expected the draws of `ready`"),
        ({"waiting": {"draws": [1], "samples": [0], "arms": [5]}}, "expected samples of their arms"),
        ({"history": []}, "state.history"),
        ({"counts": {}}, "state.counts"),
        ({"mixture": {}}, "state"),
        ({"setting": {}}, "expected packs_per_step 8, got None"),
        ({"inside_step": 3}, "state.inside_step"),
    ],
)
def test_a_broken_state_is_refused_and_changes_nothing(change: dict[str, Any], message: str) -> None:
    _, state = run_of_ranks(1, 3 * PACKS_PER_STEP)
    loader = loader_of()
    with pytest.raises(ValueError, match=message):
        loader.load_state_dict(state | change)
    assert loader.state_dict() == loader_of().state_dict()
    assert [seen(batch) for batch in loader] == [seen(batch) for batch in loader_of()]


@pytest.mark.parametrize(
    "other", [{"packs_per_step": 4}, {"capacity_tokens": 80}, {"normaliser": "sum"}, {"strategy": "ffd"}]
)
def test_the_state_of_another_loader_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"state.setting: expected {next(iter(other))}"):
        loader_of().load_state_dict(loader_of(**(other | {"loss_tokens": None})).state_dict())
    with pytest.raises(ValueError, match="state.hash"):
        loader_of().load_state_dict(loader_of(mixture=mixture_of(seed=1)).state_dict())
