"""Packed training by two processes has the gradients of every sample trained on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import training  # noqa: E402
from cases import rows  # noqa: E402
from process_pool import ProcessPool  # noqa: E402
from training_cases import drawn_lengths, plan_of  # noqa: E402

import packsim  # noqa: E402

LENGTHS = drawn_lengths(40, seed=4, longest_tokens=64).tolist()
NORMALISERS = [row.name for row in packsim.normalisers()]
N_ITERATIONS = 2
TOLERANCE = 1e-5  # weights are float32


def relative(found: Any, expected: Any, to: Any) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(to))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_gradients_are_those_of_unpacked_training_and_biases_as_defined(
    row: packsim.Strategy, two_processes: ProcessPool
) -> None:
    lengths = np.array(LENGTHS, dtype=np.int32)
    plan = plan_of(row, lengths, 2, last_iteration="shorten")
    arguments = (plan.to_bytes(), LENGTHS, N_ITERATIONS, NORMALISERS, False)
    gradients, others = two_processes.run(training.packed_gradients, *arguments)
    n_iterations = min(N_ITERATIONS, plan.n_iterations)
    for iteration in range(n_iterations):
        weights = {name: training.defined_weights(plan, iteration, name) for name in NORMALISERS}
        stable = training.unpacked_gradient(plan, LENGTHS, iteration, weights["stable"])
        assert relative(gradients["stable"][iteration], stable, stable) < TOLERANCE
        for name in NORMALISERS:
            assert (gradients[name][iteration] == others[name][iteration]).all()
            difference = [
                [own - equal for own, equal in zip(of_pack, of_stable, strict=True)]
                for of_pack, of_stable in zip(weights[name], weights["stable"], strict=True)
            ]
            bias = training.unpacked_gradient(plan, LENGTHS, iteration, difference)
            found = gradients[name][iteration] - gradients["stable"][iteration]
            assert relative(found, bias, stable) < TOLERANCE * max(1, sum(map(sum, weights[name])))
    for name in NORMALISERS:
        predicted = plan.loss_bias(name).misplaced_fraction
        assert predicted == pytest.approx(training.misplaced_fraction(plan, name), abs=1e-9)


def test_a_bias_is_there_to_be_found(two_processes: ProcessPool) -> None:
    """Else the test above could not tell normalisers apart."""
    row = next(row for row in rows() if row.name == "ffd")
    plan = plan_of(row, np.array(LENGTHS, dtype=np.int32), 2)
    arguments = (plan.to_bytes(), LENGTHS, 1, ["stable", "token_mean", "sample_mean"], False)
    gradients, _ = two_processes.run(training.packed_gradients, *arguments)
    stable = gradients["stable"][0]
    assert relative(gradients["token_mean"][0], stable, stable) > 1e-3
    assert relative(gradients["sample_mean"][0], stable, stable) > 1e-2
    assert plan.loss_bias("sample_mean").misplaced_fraction > 0.05


@pytest.mark.parametrize(
    ("name", "padding"),
    [
        ("ffd", {"padding": "capacity"}),
        ("ffd", {"padding": "multiple", "pad_multiple_tokens": 24}),
        ("none", {"padding": "capacity"}),
        ("wrapped", {"padding": "multiple", "pad_multiple_tokens": 7}),
    ],
)
def test_padding_changes_no_gradient(name: str, padding: dict[str, Any], two_processes: ProcessPool) -> None:
    row = next(row for row in rows() if row.name == name)
    plan = plan_of(row, np.array(LENGTHS, dtype=np.int32), 2, **padding)
    arguments = (plan.to_bytes(), LENGTHS, 1, ["stable"], False)
    gradients, _ = two_processes.run(training.packed_gradients, *arguments)
    stable = training.unpacked_gradient(plan, LENGTHS, 0, training.defined_weights(plan, 0, "stable"))
    assert relative(gradients["stable"][0], stable, stable) < TOLERANCE


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_idle_processes_change_no_gradient(normaliser: str, two_processes: ProcessPool) -> None:
    # Three packs, two rounds: the second process has nothing in the second one.
    lengths = [60, 50, 40]
    packing = packsim.pack(lengths, strategy="ffd", capacity_tokens=64)
    plan = packsim.make_plan(packing, n_gpus=2, micro_batches_per_rank=2, last_iteration="shorten")
    assert plan.n_iterations == 1
    arguments = (plan.to_bytes(), lengths, 1, [normaliser], False)
    for gradients in two_processes.run(training.packed_gradients, *arguments):
        weights = training.defined_weights(plan, 0, normaliser)
        expected = training.unpacked_gradient(plan, lengths, 0, weights)
        assert relative(gradients[normaliser][0], expected, expected) < TOLERANCE
