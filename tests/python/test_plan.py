"""Plans: what make_plan() makes, what a file holds, and what a training loop reads from them."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CAPACITY_TOKENS, arguments_of, heavy_tailed, rows

import packsim
from packsim._rank_schedule import RankSchedule

ROWS = pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("packsim")


def plan_of(row: packsim.Strategy, over_long: str = "drop", **arguments: Any) -> packsim.Plan:
    lengths = heavy_tailed(2000, seed=5, longest_tokens=6000)
    packing = packsim.pack(lengths, over_long=over_long, **arguments_of(row))
    if not row.forms_iterations:
        arguments = {"n_gpus": 8, "tokens_per_iteration": 16 * CAPACITY_TOKENS} | arguments
        if row.several_capacities:
            arguments = {"sp_degree": [1, 4]} | arguments
    return packsim.make_plan(packing, **arguments)


def small_plan(**arguments: Any) -> packsim.Plan:
    packing = packsim.pack([10, 30], strategy="bfd", capacity_tokens=30)
    return packsim.make_plan(packing, n_gpus=2, **arguments)


@ROWS
def test_every_sample_is_trained_once_an_epoch_or_counted(row: packsim.Strategy) -> None:
    plan = (
        plan_of(row, epochs=2, last_iteration="shorten")
        if not row.forms_iterations
        else plan_of(row, epochs=2)
    )
    plan.check()
    for epoch in range(2):
        trained = np.zeros(plan.n_samples, dtype=int)
        for iteration in range(plan.iterations_per_epoch):
            for batch in plan.micro_batches(epoch * plan.iterations_per_epoch + iteration):
                trained[batch.samples[batch.starts_tokens == 0]] += 1
        facts = plan.facts
        assert trained.max() == 1
        assert trained.sum() == facts["n_samples"] - facts["dropped_samples"] - facts["empty_samples"]


@ROWS
def test_no_gpu_trains_two_packs_in_a_round(row: packsim.Strategy) -> None:
    for micro_batches in plan_of(row):
        taken = [
            (batch.round, gpu)
            for batch in micro_batches
            for gpu in range(batch.first_gpu, batch.first_gpu + batch.group.n_gpus)
        ]
        assert len(taken) == len(set(taken))
        assert [batch.round for batch in micro_batches] == sorted(batch.round for batch in micro_batches)


@ROWS
def test_a_saved_plan_is_opened_as_it_was_and_other_processes_have_it_too(
    row: packsim.Strategy, tmp_path: Path
) -> None:
    plan = plan_of(row, over_long="split", gc_layers=3)
    path = tmp_path / "a.plan"
    plan.save(path)
    opened = packsim.Plan.open(path)
    for other in (opened, pickle.loads(pickle.dumps(opened)), pickle.loads(pickle.dumps(plan))):
        assert other.facts == plan.facts
        assert other.content_hash == plan.content_hash
        assert list(other) == list(plan)
        assert other.groups == plan.groups
        assert other.groups[0].gc_layers == 3
    assert opened.to_bytes() == path.read_bytes() == plan.to_bytes()


def test_the_program_writes_the_same_plan(tmp_path: Path) -> None:
    lengths = heavy_tailed(3000, seed=9, longest_tokens=CAPACITY_TOKENS)
    np.save(tmp_path / "lengths.npy", lengths)
    for strategy in ("bfd", "isf", "none", "axolotl_multipack"):
        command = [PROGRAM, "pack", tmp_path / "lengths.npy", "--strategy", strategy, "--capacity", "4096"]
        command += ["--gpus", "8", "--sp", "2", "--tokens-per-iteration", "32768", "--epochs", "2"]
        command += [
            "--gc-layers",
            "5",
            "--normaliser",
            "token_mean",
            "--plan",
            tmp_path / "a.plan",
            "--quiet",
        ]
        subprocess.run(command, check=True)
        packing = packsim.pack(lengths, strategy=strategy, capacity_tokens=4096)
        plan = packsim.make_plan(
            packing,
            n_gpus=8,
            sp_degree=2,
            tokens_per_iteration=32768,
            epochs=2,
            gc_layers=5,
            normaliser="token_mean",
        )
        assert plan.to_bytes() == (tmp_path / "a.plan").read_bytes()


def test_the_program_reads_a_plan_of_python(tmp_path: Path) -> None:
    plan = small_plan(loss_tokens=[10, 30], normaliser="token_mean")
    plan.save(tmp_path / "a.plan")
    shown = json.loads(
        subprocess.run(
            [PROGRAM, "plan", tmp_path / "a.plan", "--json"], check=True, capture_output=True
        ).stdout
    )
    # Each pack has half of the weight, where 1/4 and 3/4 are right.
    assert shown["loss_bias"][1]["normaliser"] == "token_mean"
    assert shown["loss_bias"][1]["misplaced_fraction"] == pytest.approx(0.25)
    assert shown["content_hash"] == plan.content_hash


def test_weights_are_what_a_token_is_multiplied_by() -> None:
    plan = small_plan(loss_tokens=[10, 30])
    weights = {
        normaliser: sorted(
            float(batch.token_weights()[0]) for batch in plan.with_normaliser(normaliser).micro_batches(0)
        )
        for normaliser in ("stable", "token_mean", "sample_mean", "longalign", "sum")
    }
    assert weights["stable"] == pytest.approx([1 / 40, 1 / 40])
    assert weights["token_mean"] == pytest.approx([0.5 / 30, 0.5 / 10])
    assert weights["sample_mean"] == pytest.approx([0.5 / 30, 0.5 / 10])
    assert weights["longalign"] == pytest.approx([0.5 / 30, 0.5 / 10])
    assert weights["sum"] == [1, 1]
    assert plan.loss_bias().misplaced_fraction == pytest.approx(0)
    assert plan.loss_bias("token_mean").long_sample_weight == pytest.approx((1 / 2) / (3 / 4))
    assert plan.with_normaliser("token_mean").loss_bias() == plan.loss_bias("token_mean")


def test_a_sample_without_loss_weighs_nothing_under_any_normaliser() -> None:
    packing = packsim.pack([5, 10], strategy="bfd", capacity_tokens=15)
    for row in packsim.normalisers():
        (batch,) = packsim.make_plan(packing, loss_tokens=[0, 4], normaliser=row.name).micro_batches(0)
        assert dict(zip(batch.samples.tolist(), batch.loss_tokens.tolist(), strict=True)) == {0: 0, 1: 4}
        weights = batch.token_weights() * batch.loss_tokens
        assert weights.sum() == pytest.approx(4 if row.name == "sum" else 1)


def test_a_plan_with_another_normaliser_is_saved_with_it(tmp_path: Path) -> None:
    plan = small_plan(loss_tokens=[10, 30])
    other = plan.with_normaliser("longalign")
    other.save(tmp_path / "a.plan")
    for same in (packsim.Plan.open(tmp_path / "a.plan"), pickle.loads(pickle.dumps(other))):
        assert same.normaliser.name == same.facts["normaliser"] == "longalign"
        assert list(same) == list(other)
        assert same.weights.tolist() == [batch.weight for batch in other.micro_batches(0)]
    # Its weights are others, so it is another plan for checkpoints.
    assert other.content_hash != plan.content_hash
    assert other.with_normaliser("stable").to_bytes() == plan.to_bytes()


def test_what_is_no_path_no_bytes_and_no_index_is_refused() -> None:
    plan = small_plan()
    with pytest.raises(ValueError, match="path: expected text without a null character"):
        plan.save("a\0b")
    with pytest.raises(ValueError, match="path: expected text without a null character"):
        packsim.Plan.open("a\0b")
    assert packsim.Plan.from_bytes(bytearray(plan.to_bytes())).facts == plan.facts
    with pytest.raises(ValueError, match="plan: expected bytes, got None"):
        packsim.Plan.from_bytes(None)  # type: ignore[arg-type]
    for index in (True, 0.0, "0"):
        with pytest.raises(TypeError, match="iteration: expected integer"):
            plan.micro_batches(index)  # type: ignore[arg-type]


@pytest.mark.parametrize("over_long", ["error", "drop", "truncate", "split"])
@pytest.mark.parametrize("strategy", ["wrapped", "bfd"])
def test_samples_without_tokens_make_a_plan_of_nothing(strategy: str, over_long: str) -> None:
    packing = packsim.pack([0, 0], strategy=strategy, capacity_tokens=16, over_long=over_long)  # type: ignore[arg-type]
    plan = packsim.make_plan(packing)
    assert plan.n_iterations == 0
    assert plan.facts["empty_samples"] == 2


def test_lengths_that_changed_since_are_found() -> None:
    plan = small_plan()
    plan.check_lengths([10, 30])
    plan.check_lengths(np.array([10, 30], dtype=np.int64))
    with pytest.raises(ValueError, match=r"expected those that the plan was made of \(2 samples, hash"):
        plan.check_lengths([10, 31])


def test_arrays_are_views_that_keep_the_plan(tmp_path: Path) -> None:
    small_plan().save(tmp_path / "a.plan")
    plan = packsim.Plan.open(tmp_path / "a.plan")
    weights, placed = plan.weights, plan.placed
    expected = weights.tolist()
    with pytest.raises(ValueError, match="read-only"):
        weights[0] = 1
    del plan
    gc.collect()
    assert weights.tolist() == expected
    assert placed["first_gpu"].tolist() == [0, 1]


@pytest.mark.parametrize(
    "train",
    [
        packsim.Plan.check,
        lambda plan: plan.micro_batches(0),
        lambda plan: RankSchedule(plan, 0, 1).turns(0),
        lambda plan: plan.with_normaliser("sum"),
        packsim.Plan.loss_bias,
    ],
)
def test_a_plan_that_is_not_true_is_opened_and_not_trained(train: Callable[[packsim.Plan], Any]) -> None:
    # Its checksums are true, and its first weight is 1e308.
    plan = packsim.Plan.open(ROOT / "tests" / "fuzz" / "corpus" / "plan_file" / "false_weight.plan")
    assert plan.weights[0] == 1e308
    with pytest.raises(
        ValueError, match=r"false_weight\.plan: weights\[0\]: expected 0\.\d+, that of the normal"
    ):
        train(plan)


def test_a_plan_that_was_read_stays_as_it_is_when_its_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    small_plan().save(path)
    plan = packsim.Plan.open(path)
    os.truncate(path, 10)
    assert plan.to_bytes() == small_plan().to_bytes()


def test_files_that_are_no_plans_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    whole = small_plan().to_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"a\.plan: header: file_bytes: .*the file is truncated"):
        packsim.Plan.open(path)
    path.write_bytes(whole[:100] + b"?" + whole[101:])
    with pytest.raises(ValueError, match=r"content_hash: .*the file is damaged"):
        packsim.Plan.open(path)
    path.write_text("lengths\n1\n")
    with pytest.raises(ValueError, match="expected a plan file, got a file of 10 other bytes"):
        packsim.Plan.open(path)
    with pytest.raises(FileNotFoundError):
        packsim.Plan.open(tmp_path / "none.plan")
    os.mkfifo(tmp_path / "pipe.plan")
    with pytest.raises(ValueError, match=r"pipe\.plan: expected a regular file, got a pipe"):
        packsim.Plan.open(tmp_path / "pipe.plan")
    with pytest.raises(OSError, match="none"):
        small_plan().save(tmp_path / "none" / "a.plan")


def test_a_pickled_plan_is_not_another_file_of_the_same_name(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    small_plan().save(path)
    pickled = pickle.dumps(packsim.Plan.open(path))
    small_plan(epochs=2).save(path)
    with pytest.raises(ValueError, match="which was pickled"):
        pickle.loads(pickled)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"n_gpus": 0}, "n_gpus: expected integer in 1"),
        ({"n_gpus": 3, "sp_degree": 2}, r"sp_degree\[0\]: expected a divisor of 3 GPUs, got 2"),
        ({"sp_degree": [1, 1]}, "sp_degree: expected one, or one for each of 1 capacities, got 2"),
        ({"gc_layers": -1}, "gc_layers: expected integer in 0"),
        ({"epochs": 0}, "epochs: expected integer in 1"),
        ({"curriculum_iterations": 3}, "curriculum_iterations: expected at most 2, the number of whole"),
        (
            {"curriculum_iterations": 1, "order": "as_packed"},
            "curriculum_iterations: expected 0 with the order as_packed",
        ),
        (
            {"order": "sorted"},
            "order: expected one of as_packed, neighbours, shuffled, balanced, got 'sorted'",
        ),
        ({"last_iteration": "pad"}, "last_iteration: expected one of drop, repeat, shorten"),
        ({"padding": "multiple"}, 'pad_multiple_tokens: expected with padding "multiple", and only with it'),
        ({"normaliser": "mean"}, "normaliser: expected one of stable, token_mean"),
        ({"loss_tokens": [1]}, "loss_tokens: expected 2 numbers, got 1"),
        ({"loss_tokens": [1.5, 2.0]}, "loss_tokens: expected integer"),
        ({"loss_tokens": np.array([1, -2])}, "loss_tokens: expected lengths in 0"),
        ({"loss_tokens": [10, 31]}, r"loss_tokens\[1\]: expected 0..30, the length of the sample, got 31"),
        ({"name": 3}, "name: expected text, got 3"),
        ({"name": "\ud800"}, "name: expected text, got "),
        (
            {"tokens_per_iteration": 8, "micro_batches_per_rank": 2},
            "micro_batches_per_rank: expected none beside tokens_per_iteration",
        ),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments: dict[str, Any], expected: str) -> None:
    packing = packsim.pack([10, 30], strategy="bfd", capacity_tokens=30)
    with pytest.raises(ValueError, match=expected):
        packsim.make_plan(packing, **arguments)


def test_a_curriculum_trains_the_lightest_packs_first() -> None:
    packing = packsim.pack([30, 10, 29, 20], strategy="ffd", capacity_tokens=30)
    assert packing.n_packs == 3  # [30], [29], [20, 10]: works of 900, 841 and 500 pairs
    for seed in range(10):
        plan = packsim.make_plan(packing, curriculum_iterations=1, seed=seed)
        assert plan.facts["curriculum_iterations"] == 1
        assert sorted(plan.micro_batches(0)[0].samples) == [1, 3]


def test_all_mistakes_come_at_once() -> None:
    packing = packsim.pack([10, 30], strategy="bfd", capacity_tokens=30)
    with pytest.raises(ValueError, match=r"(?s)n_gpus.*epochs.*normaliser"):
        packsim.make_plan(packing, n_gpus=-1, epochs=0, normaliser="no")  # type: ignore[arg-type]


def test_a_strategy_that_forms_iterations_is_not_told_again() -> None:
    packing = packsim.pack(
        [10, 30], strategy="verl_kk", capacity_tokens=30, n_gpus=2, tokens_per_iteration=60
    )
    assert packsim.make_plan(packing).n_gpus == 2
    with pytest.raises(ValueError, match="n_gpus: expected none for verl_kk"):
        packsim.make_plan(packing, n_gpus=4)


def test_a_packing_that_was_pickled_has_no_plan() -> None:
    packing = pickle.loads(pickle.dumps(packsim.pack([10, 30], strategy="bfd", capacity_tokens=30)))
    with pytest.raises(ValueError, match=r"expected what pack\(\) returned in this process"):
        packsim.make_plan(packing)


def test_an_iteration_that_is_not_there_is_an_index_error() -> None:
    plan = small_plan()
    with pytest.raises(IndexError, match=r"iteration: expected 0\.\.0, got 1"):
        plan.micro_batches(1)
