"""Plans that pack anew in every epoch: every sample once an epoch, new neighbours, the same at every call."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cases import heavy_tailed
from numpy.typing import NDArray

import packsim
from packsim import LossSpans, RepackedPlan

LENGTHS = heavy_tailed(3000, 5, 4096)
LABELS = [[-100 if token % 3 else 7 for token in range(n)] for n in LENGTHS.tolist()]
SPANS = LossSpans.of_labels(LABELS)
LOSS_TOKENS = SPANS.counts()


def plan_of(order: NDArray[np.int64], seed: int, **more: Any) -> packsim.Plan:
    packing = packsim.pack(LENGTHS[order], strategy="isf", capacity_tokens=4096, seed=seed)
    arguments = {"n_gpus": 4, "last_iteration": "shorten", "loss_tokens": SPANS.take(order), "seed": seed}
    return packsim.make_plan(packing, **(arguments | more))  # type: ignore[arg-type]


def repacked(**more: Any) -> RepackedPlan:
    arguments = {"n_samples": len(LENGTHS), "epochs": 3} | more
    return RepackedPlan(plan_of, **arguments)  # type: ignore[arg-type]


def test_every_epoch_trains_every_sample_once_with_new_neighbours() -> None:
    plan = repacked()
    assert plan.n_iterations == 3 * plan.iterations_per_epoch == len(list(plan))
    n_own = [plan.plan_of_epoch(epoch).n_iterations for epoch in range(3)]
    assert plan.iterations_per_epoch == max(n_own)
    assert plan.repeated_iterations == tuple(max(n_own) - n for n in n_own)
    assert sum(plan.repeated_iterations) > 0  # else this seed tests too little
    packs: list[set[frozenset[int]]] = [set() for _ in range(3)]
    for iteration in range(plan.n_iterations):
        epoch, place = divmod(iteration, plan.iterations_per_epoch)
        micro_batches = plan.micro_batches(iteration)
        for micro_batch in micro_batches:
            samples = micro_batch.samples.tolist()
            assert micro_batch.iteration == iteration
            # Lengths and loss tokens are those of the samples under their own numbers.
            assert micro_batch.tokens.tolist() == LENGTHS[samples].tolist()
            assert micro_batch.loss_tokens.tolist() == LOSS_TOKENS[samples].tolist()
            # Whole repeated iterations, and else every pack once.
            assert (frozenset(samples) in packs[epoch]) == (
                plan.repeated_iterations[epoch] <= place < 2 * plan.repeated_iterations[epoch]
            )
            packs[epoch].add(frozenset(samples))
        n_loss_tokens = sum(int(micro_batch.loss_tokens.sum()) for micro_batch in micro_batches)
        assert {micro_batch.weight for micro_batch in micro_batches} == {1 / n_loss_tokens}
        assert len(micro_batches) == 4 or place == plan.iterations_per_epoch - 1
    for of_epoch in packs:
        assert sorted(sample for pack in of_epoch for sample in pack) == list(range(len(LENGTHS)))
    # A full pack of one sample stays alone; hardly a pack of several is the same in two epochs.
    for before, after in pairwise(packs):
        assert len([pack for pack in before & after if len(pack) > 1]) < len(before) / 50


def test_one_seed_is_one_plan_and_another_is_another() -> None:
    plan = repacked()
    assert plan.content_hash == repacked().content_hash
    assert plan.content_hash != repacked(seed=7).content_hash != repacked(epochs=2, seed=7).content_hash
    places = [0, plan.iterations_per_epoch, plan.n_iterations - 1]
    there = [plan.micro_batches(place) for place in places]
    back = [plan.micro_batches(place) for place in reversed(places)]
    assert there == back[::-1]
    assert plan.plan_of_epoch(1).content_hash == repacked().plan_of_epoch(1).content_hash
    for wrong in (-1, 3):
        with pytest.raises(IndexError, match=f"epoch: expected 0..2, got {wrong}"):
            plan.plan_of_epoch(wrong)
    for wrong in (-1, plan.n_iterations):
        with pytest.raises(IndexError, match=f"iteration: expected 0..{plan.n_iterations - 1}, got {wrong}"):
            plan.micro_batches(wrong)


def test_plans_that_do_not_go_together_are_refused() -> None:
    def differing(order: NDArray[np.int64], seed: int) -> packsim.Plan:
        return plan_of(order, seed) if seed == 9 else plan_of(order, seed, n_gpus=3, padding="capacity")

    with pytest.raises(ValueError, match="epoch 1: expected n_gpus 4, as in epoch 0, got 3") as caught:
        RepackedPlan(differing, n_samples=len(LENGTHS), epochs=2, seed=9)
    assert "epoch 1: expected padding 'none', as in epoch 0, got 'capacity'" in str(caught.value)
    with pytest.raises(ValueError, match="epoch 0: expected at least one iteration, got none"):
        RepackedPlan(
            lambda order, seed: plan_of(order, seed, n_gpus=4096, last_iteration="drop"),
            n_samples=len(LENGTHS),
            epochs=1,
        )
    with pytest.raises(ValueError, match="epoch 0: expected a plan of one epoch, got one of 2"):
        RepackedPlan(lambda order, seed: plan_of(order, seed, epochs=2), n_samples=len(LENGTHS), epochs=1)
    with pytest.raises(ValueError, match="epoch 0: expected a plan of 5 samples, got one of 4"):
        RepackedPlan(
            lambda order, seed: packsim.make_plan(packsim.pack([1] * 4, strategy="bfd", capacity_tokens=4)),
            n_samples=5,
            epochs=1,
        )
    with pytest.raises(ValueError, match="plan_of: expected it to return a plan, got"):
        RepackedPlan(lambda order, seed: None, n_samples=5, epochs=1)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="n_samples: .*\nepochs: .*\nseed: "):
        RepackedPlan(plan_of, n_samples=-1, epochs=0, seed=-1)


def test_a_function_that_changes_its_mind_is_found_out() -> None:
    seeds = iter([1, 2, 3, 4])
    plan = RepackedPlan(lambda order, _: plan_of(order, next(seeds)), n_samples=len(LENGTHS), epochs=2)
    plan.micro_batches(plan.iterations_per_epoch)  # of the epoch that was made last
    with pytest.raises(ValueError, match="plan_of: expected the same plan of epoch 0 as before"):
        plan.micro_batches(0)
